"""One branch taken out."""

from __future__ import annotations

from typing import NamedTuple

HEALING, VERIFY, PILLARS = "test_healing.py", "test_verify.py", "test_healing_pillars.py"
GONE = "test_lost_rows.py"
ROWS, PAGES, BRANCHES = "test_healing_rows.py", "test_page_damage.py", "test_healing_branches.py"
RING, SEALED, USERS = "test_keyring.py", "test_encryption.py", "test_user_data.py"
LOOKS, KNOWS = "test_verify_branches.py", "test_told_branches.py"
OPENS, FORMS = "test_sealed_branches.py", "test_class_branches.py"
LED, DAMAGED_ROWS = "test_led_back.py", "test_verify_rows.py"
LOST = "test_lost_checkpoints.py"
SEVERAL, MADE = "test_healing_several.py", "test_undecodable.py"
CLASSES, SAFE, MIGRATIONS = "test_classes.py", "test_safe_types.py", "test_migrations.py"


class M(NamedTuple):
    """What stands in `module` as `old` becomes `new`; the test `test` (and -k `which`) fails."""

    name: str
    module: str
    old: str
    new: str
    test: str
    which: str
