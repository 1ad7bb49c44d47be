"""Makes the helpers of this folder importable: fuzz_corpus, fuzz_mutations, fuzz_targets, fuzz_pool."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
