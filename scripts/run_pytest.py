"""Run pytest with these arguments and end the process at once with its exit code.

bpy 4.5 can hang for ever while Python shuts down, after the last test has passed.
"""

import os
import sys

import pytest

exit_code = pytest.main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
os._exit(int(exit_code))
