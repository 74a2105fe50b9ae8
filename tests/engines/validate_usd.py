"""OpenUSD's validators and NVIDIA's: `python validate_usd.py FILE ...`, without bpy.

The last line is JSON: [[whether it is an error, what], ...] for each file.
"""

# Type checks run without what is in .venv-engines.
# pyright: reportMissingImports=false

import json
import sys

from omni.asset_validator import IssueSeverity, ValidationEngine
from pxr import Usd, UsdValidation

Found = list[tuple[bool, str]]


def by_openusd(path: str) -> Found:
    """What every validator that comes with OpenUSD finds in the stage."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(path))
    error = UsdValidation.ValidationErrorType.Error
    return [(each.GetType() == error, str(each.GetIdentifier())) for each in found]


def by_nvidia(path: str) -> Found:
    """What the Asset Validator finds with its default rules."""
    errors = (IssueSeverity.ERROR, IssueSeverity.FAILURE)
    return [
        (issue.severity in errors, issue.rule.__name__ if issue.rule else issue.message)
        for issue in ValidationEngine().validate(path).issues()
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps([by_openusd(path) + by_nvidia(path) for path in sys.argv[1:]]))
