"""Mutants of what hardly comes: cells of other types, threads that go meanwhile, bounds."""

from __future__ import annotations

from tests.campaigns.mutant import M

RARE = "test_rare_damage.py"

HARDLY = (
    M("a name that is no text is shown", "store/names",
      "    except TypeError:  # SQLite", "    except ZeroDivisionError:  # SQLite", RARE,
      "of_another_type"),
    M("a key of what is no text", "plans/naming",
      "except (UnicodeEncodeError, AttributeError):", "except UnicodeEncodeError:", RARE,
      "name_of_another_type"),
    M("a time that is none", "healing/beside",
      "    except ValueError:\n        return UNKNOWN\n",
      "    except ZeroDivisionError:\n        pass\n", RARE, "time_of_another_type"),
    M("words that can't be packed", "plans/ledger",
      "    except TypeError:\n        return False\n    return sound",
      "    except ZeroDivisionError:\n        return False\n    return sound", RARE, "no_text"),
    M("a name is proven by its key", "healing/leading",
      "            return flips.text_put_right(claim.thread_id, "
      "lambda text: thread_key(text) == key)\n", "            return None\n", RARE,
      "flipped_bit"),
    M("a damaged head says not whose it is", "healing/leading",
      "            row = checked(raw)\n",
      "            from langgraph_wyrd.plans.loading import Stored\n"
      "            row = Stored(*raw)\n",
      RARE, "head_is_damaged"),
    M("whose it is another checkpoint says", "healing/leading",
      "        except CheckpointDamaged:\n            continue\n",
      "        except CheckpointDamaged:\n            return None\n", RARE, "head_is_damaged"),
    M("a label of no checkpoint stays", "healing/beside",
      "            if not proven and row[1] not in checkpoints:\n", "            if False:\n",
      "test_told_branches.py", "of_no_checkpoint"),
    M("two names are none", "healing/whole",
      "    if not names or names[0][1] * 2 <= sum(count for _, count in names):\n",
      "    if not names:\n", RARE, "two_names"),
    M("it went before it was looked at", "healing/verifying",
      "    if not rows:\n        return []\n", "", RARE, "looked_for"),
    M("it went before it was repaired", "healing/verifying",
      "    if not rows:\n        return\n", "", RARE, "before_it_is_repaired"),
    M("a copy of answers that is none", "plans/answers",
      "except (CheckpointDamaged, TypeError, ValueError):", "except CheckpointDamaged:", RARE,
      "copy_of_answers"),
    M("a frame that is none names nothing", "healing/mending",
      "                except CheckpointDamaged:\n                    break\n",
      "                except ZeroDivisionError:\n                    break\n", RARE,
      "frame_is_none"),
    M("a search ends by its runs", "healing/copies",
      "                if (left := left - 1) < 0:\n                    return\n", "", RARE,
      "search_has_an_end"),
    M("a search ends by its bytes", "healing/copies",
      "                if (left := left - size) < 0:\n                    return\n", "", RARE,
      "search_has_an_end"),
    M("what was searched in vain is forgotten at last", "healing/flips",
      "            _vain.clear()\n", "            pass\n", RARE, "in_vain"),
)  # fmt: skip
