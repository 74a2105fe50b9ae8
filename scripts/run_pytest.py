"""Run pytest with these arguments and end the process at once with its exit code.

bpy 4.5 can hang for ever while Python shuts down, after the last test has passed.
"""

import sys

import pytest

from leaving import leave

leave(pytest.main(sys.argv[1:]))
