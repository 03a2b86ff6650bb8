"""Whether a sentence of an agent asks something of the person, in English."""

from __future__ import annotations

from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.sentences import (
    INVERTED,
    MARKS,
    WH,
    Form,
    plain,
    start,
)

_LONGEST = 400  # a longer sentence is no question, if it has no question mark

_SOFT = (
    r"no problem|no worries|you(?:'re| are) (?:very |most )?welcome|my pleasure|so|and|also|okay|ok"
    r"|sure(?: thing)?|certainly|great|perfect|alright|all right|understood|got it|thanks"
    r"|thank you|sorry|well|then|now|first|again|absolutely|of course|yes|no|sounds good"
    r"|very well|good|fine|hi|hello|but|or|excellent|i understand(?=[,.!])|i see(?=[,.!])"
)
_LEAD = late(rf"(?:(?:{_SOFT})\b[\s,;:!-]*)*")

_MORE = r"(?<!\bor )(?:(?:any|some)thing (?:else|more|further|different|additional)"
_MORE += r"|(?:any|some) other|any ?more)\b"
_HELP = r"(?:help|assist|do|get|be of|serve|answer|find|check|look)"
_SERVES = r"(?:help|assist|serve|be of|do (?:for|to help))"
_COURTESY = start(  # offers more of everything, wants no answer
    rf"(?:(?:is|are|was|will) there (?:be )?)?(?:{_MORE}|what more|something else)",
    rf"is there (?:any|some)thing (?:(?:that )?(?:i|we|you)\b.*{_HELP}|i can)",
    rf"(?:do|did|would|will|are) you (?:still )?(?:\w+ )?(?:\w+ )?(?:\w+ )?"
    rf"(?:\w+ )?(?:with )?{_MORE}",
    r"(?:do|did|would|will) you (?:still )?(?:need|have|want|like|require)(?: me to)?"
    r" (?:any|some|more|further|other|additional|another)(?: more| other| further| additional)?"
    r" (?:questions?|help|assistance|requests?|concerns?|quer\w+|thing)",
    rf"(?:do|would) you (?:wish|want|like|need|care)\b.*{_MORE}",
    rf"(?:can|could|may|shall|should|might) (?:i|we)\b.*{_MORE}",
    r"(?:can|could|may|might|shall) (?:i|we) (?:still |also )?(?:help|assist)(?: you)?"
    r"(?: again| more| further| today| now| out)*\W*$",
    r"(?:and )?(?:what|how|who) else",
    rf"(?:how|what)(?: else| more)? (?:can|could|may|might) (?:i|we) {_SERVES}",
    r"(?:is|was) there (?:any|some)thing (?:specific|particular|in particular|special)",
    r"(?:need|want) (?:any )?(?:help|assistance) with (?:any|some)thing",
    r"how are you|what's up|what brings you",
    r"(?:does|did|do|has) (?:that|this|it) (?:help|answer|solve|resolve|clear|cover|fix)",
    r"(?:is|was) (?:that|this|it) (?:what you (?:were|wanted|needed|had)|all|everything)",
    r"(?:will|would) (?:that|this) be (?:all|everything)|would there be (?:any|some)thing",
)
_UNDER_TERMS = start(
    "(?:if|once|when|whenever|should) (?:you|your|there|we|it|that|the|they)",
    "please (?:reach|contact|call|visit|note|wait|don't|do not)",
)
_PROPOSES = late(
    r"(?:and |or )?(?:how|what) about\b|how (?:does|do|would|is) (?:that|this|it|these|they)\b"
    r"|(?:does|do|would|will|is|are|can) (?:that|this|it|these|those|one|any|either)\b"
    r".*\b(?:work|works|suit|sound|okay|ok|good|fine|fit|acceptable|interest)"
    r"|(?:sounds?|looks?) (?:good|great|ok|okay|fine)|what do you think|(?:are )?you interested"
    r"|would you be interested"
)
_TO_YOU = late(
    r"\b(?:do|did|are|will|would|should|can|could|have|may) (?:you|i|we|your)\b"
    r"|(?:what|which|where|when|who|how)(?:'s|'re| is| are| will| would| should)\b"
    r"|\bhow (?:many|much|long|often|far|soon)\b|\byou(?:'d| want| wish| need| prefer| would)\b"
)
_FOR_WORDS = start(  # asked as an order: "please tell me the city"
    r"(?:please|kindly|just|can you|could you|would you|will you|you can|you could|do|let's|"
    r"i need you to|i'd like you to|i want you to|be so kind (?:as )?to| )*"
    r"(?:provide|tell me|tell us|let me know|let us know|specify|confirm|re-?confirm|verify"
    r"|clarify|indicate|give me|give us|give|advise|state|supply|share|choose|select|pick|enter"
    r"|mention|describe|answer|reply|respond|elaborate|double[- ]check)",
    r"(?:i'll|i will|i would|i'd|i|we|we'll|we will)(?: also| just| still| first| then| only)*"
    r" (?:need|require)(?: to know| to have| to ask| to confirm| to verify| you to| your| the"
    r"| some| a few| more| a bit| additional| one| two| three)",
    r"(?:i'd|i would|i) (?:like|want|love|need) to (?:know|confirm|ask|verify|clarify|make sure)",
    r"(?:may|can|could|might) i (?:have|know|get|ask)",
    r"i (?:was|am|'m) wondering",
)
_CONFIRMS = start(
    r"(?:(?:just|let me|let's|please|kindly|i'd like|i would like|i want|i just want|allow me"
    r"|wanted|i'll|i will|i|we|ok|okay|so|then) )*(?:to )?(?:re-?confirm|confirm|clarify|be clear"
    r"|recap|summarize) *(?:me|that|then|again|you|:|,|the|your"
    r"|these|this|if|with|i|a|whether|all|before|\d)",
    r"(?:(?:just|to|please|kindly|first) )*(?:verify|ensure|make sure|double[- ]check) (?:that|the"
    r"|your|these|this|you|all|if|with)",
    r"(?:just )?(?:re-?)?confirming|(?:just )?for (?:your )?confirmation",
    r"(?:so |then )*you(?:'d| would)? (?:also )?(?:like|(?<!d )want|wish|wanna|would like|prefer|"
    r"asked) (?:to|me|a|an|the|for|\d+|one|two|three|tickets|your|instead)",
    r"(?:so |then )+you (?:are|will|'re|need|'ll|asked)",
    r"you(?:'re| are| will be) (?!(?:wait|look forward|go|us|see|gett|ask|miss)ing\b)\w+ing",
    r"(?:here's|here is|this is) what i have",
)
_TAG = late(
    r"(?!(?:you're|you are|that's|that is|it's|all|quite|everything is)\b(?: \w+){0,2}$)"
    r".*\b(?:right|(?<!\bas )(?<!\bbe )(?<!\bare )(?<!\bnot )(?<!\bnow )\bcorrect|is (?:that|"
    r"this|it|everything|all) (?:right|correct|ok|okay|fine"
    r"|good|true|accurate)|could you confirm|please confirm|please verify|ok with you)$"
)
_TAGS = ("right", "correct", "ok", "okay", "fine", "good", "true", "accurate", "firm", "ify", "you")
# No table matches a sentence that begins with another word: most need no further look.
_FIRST = (
    "about advise allow also and answer any anything anymore are at be by can choose clarify"
    " confirm could describe did do does double elaborate ensure enter for from give has have"
    " here here's how how's how're i i'd i'll i'm if in indicate interested is just kindly let"
    " let's look looks make may mention might must on once or pick please provide re re-"
    " confirm reconfirm recap reply respond select shall share should so some something sound"
    " sounds specify state summarize supply tell then this till to until verify wanted was we"
    " we'll were what what's what're when when's whenever where where's where're which who"
    " who's whom whose will with would you you'd you're"
)
_OPENERS = frozenset(_FIRST.split())
_LAST = late(  # where a last clause asks anew, or offers more
    r"(?:, | - )(?:or |and |but )?(?=(?:(?:is|will) there"
    r"|(?:can|may|shall|do|would|will) (?:i|we|you)"
    r"|(?:how|what) (?:about|do you think|does|would|else|can|may)|anything)\b)"
)


def asked_in_english(sentence: str) -> Form:
    """Whether a sentence asks something of the person; `courtesy` where it only offers more."""
    marked = sentence[-1] in MARKS
    if not marked and len(sentence) > _LONGEST:
        return "tells"
    line = plain(sentence)
    if line[0] == "#":  # a heading
        return "tells"
    lead = _LEAD.match(line)
    rest = line[lead.end() :] if lead else line
    last = _LAST.search(rest) if ", " in rest or " - " in rest else None
    if not (marked or last or _may_ask(rest)):
        return "tells"
    if last:  # "it is full, can I do anything else?", "shall I book, or is there anything else?"
        if _COURTESY.match(rest, last.end()):
            rest, marked = rest[: last.start()], False
        elif _PROPOSES.match(rest, last.end()):
            return "proposes"
    if _COURTESY.match(rest):
        return "courtesy"
    if marked:
        return "proposes" if _PROPOSES.match(rest) else "asks"
    return _unmarked(rest)


def _unmarked(line: str) -> Form:
    """A sentence without a question mark."""
    if _UNDER_TERMS.match(line):
        return "courtesy"
    if _PROPOSES.match(line):
        return "proposes"
    if INVERTED.match(line) or _FOR_WORDS.match(line):
        return "asks"
    if _CONFIRMS.match(line) or (line.endswith(_TAGS) and _TAG.match(line)):
        return "asks"
    if WH.match(line) and _TO_YOU.search(line):
        return "asks"
    _, please, clause = line.partition(", please ")  # "before I delete it, please look again"
    return _unmarked(f"please {clause}") if please else "tells"


def _may_ask(line: str) -> bool:
    """A cheap look: whether any table can match a sentence without a question mark."""
    first = line.partition(" ")[0]
    return (
        first in _OPENERS
        or first.rstrip(",:;").endswith("ing")
        or line.endswith(_TAGS)
        or ", please " in line
    )
