"""English-like prose from a seed: the same text for every saver, on every machine.

Words are drawn by Zipf's law, so frequent ones come first in the list; figures and references are
mixed in as in real conversations. Random letters would compress too badly, a repeated sentence too
well.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from itertools import accumulate

_WORDS = """
the of and to a in is that it for was on as with be by at this have from or had not are but which
they one we you were all her she there would their will when who him been has more if no out so up
what its about into than them can only other some could these two may then do first any my now such
like our over man me even most made after also did many before must through back years where much
your way well down should because each just those people too how little state good very make world
still own see work long here get both between life being under never day same another know while
last might us great old year off come since go against came right used take three
team report order customer invoice payment account ticket number address server release branch
change review deploy rollback meeting agenda budget quarter contract supplier delivery warehouse
shipment return refund policy request answer question summary draft version document page paragraph
figure table chart source result analysis reason cause effect problem solution option plan step task
deadline week month morning evening hour minute window schedule calendar travel flight hotel booking
train station platform office kitchen garden river mountain harbour bridge street corner market
library school doctor patient nurse treatment medicine dose symptom fever weather rain wind storm
summer winter light water stone wood paper metal engine battery sensor signal network router cable
database index query column record backup restore migration schema cluster node replica latency
throughput memory cache queue worker thread process signature certificate key token secret password
login session browser screen button menu colour layout font image photograph camera recording voice
language translation sentence grammar letter word reader writer editor publisher chapter story
history museum painting music concert orchestra violin rehearsal theatre actor audience evidence
witness court judge lawyer clause appendix licence permit inspection notary stamp
insurance premium claim estimate discount price margin revenue cost tax receipt salary pension
interview candidate colleague manager director assistant engineer analyst designer teacher student
lesson exam score project proposal grant research method sample measurement error variance trend
forecast model training prediction weight layer gradient prompt agent tool message reply context
carefully quickly probably already usually recently directly roughly exactly mostly instead together
however therefore although unless perhaps rather quite almost enough later earlier again soon often
compare explain describe suggest confirm check verify collect prepare send receive open close move
copy remove replace rename extend shorten measure repeat start stop wait continue decide agree
refuse accept promise remember forget observe expect prefer improve reduce increase avoid allow
prevent require include exclude separate combine arrange deliver install configure restart monitor
small large early late simple difficult clear vague recent ancient common rare strong weak quiet
loud narrow wide heavy cheap expensive safe dangerous useful harmless complete partial public
private local remote daily weekly annual initial final proper strange familiar empty full
""".split()  # noqa: SIM905 - forty lines of quotes would not read better

_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(len(_WORDS))))


def prose(size: int, *seed: object) -> str:
    """About `size` characters of sentences, decided by the seed."""
    rng = random.Random(repr(seed))
    sentences: list[str] = []
    written = 0
    while written < size:
        words = rng.choices(_WORDS, cum_weights=_WEIGHTS, k=rng.randint(6, 18))
        if rng.random() < 0.35:
            words.insert(rng.randrange(len(words)), _reference(rng))
        if len(words) > 10:
            words[rng.randrange(3, len(words) - 3)] += ","
        sentence = " ".join(words).capitalize() + rng.choice("....?")
        if len(sentences) % 5 == 4:
            sentence += "\n"
        sentences.append(sentence)
        written += len(sentence) + 1
    return " ".join(sentences)


def identifier(*seed: object) -> str:
    """A UUID decided by the seed, as message ids are."""
    return str(uuid.UUID(int=random.Random(repr(seed)).getrandbits(128)))


def _reference(rng: random.Random) -> str:
    forms: Sequence[str] = (
        f"{rng.randint(1, 31)}.{rng.randint(1, 12)}.",
        f"#{rng.randint(1000, 99999)}",
        f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}",
        f"{rng.uniform(1, 5000):,.2f} EUR",
        f"v{rng.randint(0, 9)}.{rng.randint(0, 30)}",
        f"{rng.randint(2, 98)} %",
    )
    return rng.choice(forms)
