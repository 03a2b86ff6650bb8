"""Whether a person's turn says what they want from now on, or only thanks."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.sentences import (
    INVERTED,
    MARKS,
    WH,
    Form,
    either,
    plain,
    sentences,
)
from langgraph_wyrd.extraction.words import en

_MOST = 40  # sentences
_READ = 2000  # characters at the beginning of what a person said

_SOUNDS = (
    r"(?:that|this|it|that one|this one|which|they|those|these)?(?:'s|'ll| is| are| will| would"
    r"| does| that)?(?: be)?(?: all| very| really| just| quite| pretty)* ?(?:sounds?|looks?|seems?"
    r"|works?|good|great|fine|perfect|awesome|nice|ok|okay|cool|right|correct|amazing|wonderful"
    r"|excellent|lovely|it does|do)(?: like a plan)?(?: good| great| fine| perfect| nice| awesome"
    r"| right| amazing| interesting| ok| okay)?(?: to me| for me| with me| then| for us| too)*"
)
_LINKS = (
    "please|so|and|but|or|yet|then|now|right now|for now|also|too|just|first|next|dear \\w+|sir"
)
_OPEN = late(rf"[\s,;:.!-]*(?:(?:{_SOUNDS}|{en.NODS}|{en.THANKS}|{_LINKS})(?!\w)[\s,;:!-]*)*")
_WAIT = late(r"(?:(?:oh|ah|hm+|wait|hold on|hang on|actually)\b[\s,;.!-]*)+")
_NO = late(
    r"(?:no|nope|nah|not|wrong|wait|hold on|actually|maybe|perhaps|sorry|although|though|but"
    r"|i changed|i'd rather|i would rather|instead|hmm+|neither|none|never|i don't|i didn't"
    r"|incorrect)(?!\w)"
)
_LATER = late(  # what was asked is put off
    r"\b(?:not (?:right )?now|not (?:quite )?yet|not today|not at (?:this|the) (?:time|moment)"
    r"|not (?:right )?this (?:second|minute|moment)|later|some other time|another time|in a bit"
    r"|no,? thanks?(?: you)?|no need|never ?mind|forget (?:it|that|about)"
    r"|that's (?:okay|ok|alright)"
    r"|skip (?:it|that|this)|leave (?:it|that)|something else (?:first|instead)|before that"
    r"|first,? (?:can|could|i)|different question|change of plans?|on second thought"
    r"|scratch that)(?!\w)"
)
_TELL = either("tell", "know", "say", "check", "confirm", "verify", "learn", "see (?:if|what|how)")
_ALSO = r"(?: also| really| just| now| still| then| kindly| please| possibly| maybe| currently)*"
_TO_DO = late(  # asks for something to be done
    rf"(?:(?:can|could|would|will|may|might) (?:you|u|we|i|ya)(?: be able to| try to| go ahead and"
    rf"| help me(?: to)?)?{_ALSO} (?!be\b|have\b|you\b|i\b)[a-z]{{2,}}"
    rf"|(?:i|we|my \w+ and i|me and my \w+)(?:'d|'ll|'m|'re| would| will| am| are| do)?{_ALSO}"
    r" (?:want|need|love to|wish|looking|trying to|hoping|interested in"
    r"|have to|gotta|planning|thinking (?:of|about)|searching|seeking|wanna|wondering if you)"
    rf"|(?:i|we)(?:'d| would){_ALSO} like|(?:it's |now it's )?time to|to (?:book|get|find|buy)"
    r"|it would be (?:\w+ )?(?:great|nice|good|awesome|cool|helpful|lovely) (?:to|if)"
    rf"|(?:let's|let us|lets)|help(?: me| us)|{en.VERBS}|tell me|(?:is|would) it (?:be )?possible"
    r"|do you think|would you mind|are you able|is there (?:any|a) way|go ahead"
    r"|what i (?:want|need)|my (?:goal|task|aim|next)|next(?: up)?,"
    r"|i'm (?:going|heading|traveling|travelling) to|back to"
    r")(?!\w)"
)
_NEWS = late(  # asks for knowledge about what is at hand: no new aim
    rf"(?:(?:can|could|would|will|may|might) (?:you|u|i|we){_ALSO}"
    rf"|(?:i|we)(?:'d| would|'ll)?{_ALSO} (?:want|need|like|love|wish|have)(?: to)?|please)?{_ALSO}"
    rf" ?(?:to )?(?:{_TELL}|give|provide|ask|share|find out)(?: out)?(?: me| us)?,?(?: more)?"
    r"(?: about)? (?:if|whether|when|where|who|how|what|which|the|its|it's|their|his|her|that|this"
    r"|it|they|them|there|your|more|for)\b"
    r"|(?:can|could|may) (?:i|we) (?:\w+ ){1,2}(?:there|here)\b"
    rf"|(?:i|we)(?:'d| would)?{_ALSO} (?:need|want|like)(?: to have)?"
    r" (?:the|its|their|his|her|that)"
    r"(?: \w+)? (?:address|number|name|price|cost|rating|time|date|details?|info\w*|hours|location"
    r"|email|code|link|website)\b"
)
_STOPS = f" .,;:!{MARKS}"
# Something else of the same sort.
_OTHERS = "other others else instead different alternative alternatives rather option options"
_OTHER = frozenset(_OTHERS.split())
_ANOTHER = late(
    r"(?:how|what) about\b|.*\b(?:(?:is|are) there another|(?:some|any|me|see|few) more"
    r"|another one)\b"
)
# Asked of an assistant for themselves, not about something at hand.
_TOPICS = frozenset(("weather", "forecast", "news", "headlines", "balance", "traffic", "recipe"))
_EXISTS = late(
    r"(?:are|is) there (?:any|some|a|an)\b|do you (?:know|have) (?:any|some|of any|a|an)\b"
    r"|(?:what|which) (?:are|is) (?:some|a|an)\b|any \w+|(?:what|where) can (?:i|we) \w+"
)
_POINTING = "that this it its it's their they them there he she his her him these those one ones"
_POINTING += " that's there's they're your"
_POINTS = frozenset(_POINTING.split())
_HERE = _POINTS | {"the", "i", "we", "my", "our"}
# "the capital of France" says itself what it is about, "the price of it" does not.
_OWN = late(
    r"\b(?:of|in|between|about|by|during|since|before|after) (?!the\b|this|that|these|those|it\b"
    r"|them\b|there|your|his|her|its|their|my|our|a\b|an\b|advance|total|all\b|\w+ing\b)\w"
)
# An order whose verb is in no table: "paint the door". What stands first is no such word.
_NO_VERB = (
    "yes|no|yeah|yep|yup|nope|the|this|that|these|those|there|here|what|which|who|when|where|why"
    "|how|is|are|was|were|am|be|been|has|have|had|do|does|did|can|could|will|would|shall|should"
    "|may|might|must|and|or|but|so|if|in|on|at|to|of|for|from|by|with|without|about|around|after"
    "|before|during|between|near|under|over|into|until|till|than|then|also|just|only|maybe|even"
    "|not|all|both|such|quite|half|like|love|want|wants|need|needs|prefer|thanks|thank|ok|okay"
    "|sure|great|good|nice|well|now|because|since|while|though|as|its|sounds|seems|looks|means"
    "|guess|think|hope|believe|leave|keep|go|make|let|sorry|please|same|actually|wait|hello|hey"
    "|dear|said|say|says|got|get|pick|choose|select|use|enjoy"
)
_ORDER = late(
    rf"(?!(?:{_NO_VERB})\b)(?!\w+(?:ing|ly|[^s]s)\b|\w{{3,}}ed\b)"
    r"[a-z]{3,} (?:the|a|an|my|our|every) [a-z]{2,}"
)
_HOW = late(r"how (?:do|can|would|should|does|did|to)\b")
_ENGLISH = "the a an i you it is are was to of and for on at that this my me your with be have not"
_ENGLISH += " no yes ok okay thanks please will would can do like good great from there by so but"
_COMMON = frozenset(_ENGLISH.split()) | {"all", "it's"}
_MUCH = 400  # who writes this much, unasked, wants something
_ALL = (  # they need nothing more
    r"that(?:'s| is| was| will be|'ll be| would be|'d be)? ?(?:all|it|everything|enough)|it's all"
    r"|(?:good ?)?bye|see (?:you|ya)|take care|have a (?:good|nice|great)|i have everything"
    r"|(?:i'm )?looking forward|(?:i |.* )appreciate|i(?:'m| am) all good"
    r"|i(?:'m| am|'ll be| should be) (?:all set|good|done|fine|going)"
    r"|you(?:'ve| have| were|'re)(?: been)? (?:a|an|so|very|too|great|the|helpful)\b"
)
_ENOUGH = late(rf"(?:{_ALL}|no|nope|nah|nothing|none|not (?:right )?now|no more|later)")
_RANK = ("rest", "news", "wish", "other")


# Sentences that most often need no look for nods.
_PLAIN_STARTS = ("i ", "i'", "can ", "could ", "what ", "the ", "is ", "how ", "my ", "we ", "a ")


@lru_cache(maxsize=64)
def wants(text: str, before: Form | None) -> bool:
    """Whether a person's turn says what they want from now on, and not only answers or goes on.

    `before` is what the agent's words left open; None where nothing was wanted so far.
    """
    if len(text) > _READ:
        text = text[:_READ]
    if before == "asks":
        put_off = _LATER.search(plain(text))
        if put_off is None:
            return False
        text = text[put_off.end() :]
    refuses = False
    said = ""
    for sentence in sentences(text)[:_MOST]:
        line = plain(sentence)
        rest = _bare(line)
        if not rest or rest[0] in MARKS or _ENOUGH.match(rest):
            continue
        if before is None:
            return True
        waits = _WAIT.match(rest) if before == "tells" else None
        if waits and _TO_DO.match(rest, waits.end()):
            return True  # "oh wait, make it two"
        no = _NO.match(rest)
        if no:
            refuses = True
            rest = rest[no.end() :].lstrip(" ,;:.!-")
        if not rest:
            continue
        kind = _says(rest)
        if ", " in rest:
            parts = (_bare(part) for part in rest.split(", "))
            kind = max((kind, *(_says(part) for part in parts if part)), key=_RANK.index)
        if before == "asks" and kind == "other":
            kind = "wish"
        if kind == "wish" and (not refuses or before == "asks"):
            return True
        if kind == "other":
            refuses = True
        if kind != "news" and not (no and kind == "rest"):
            said = rest
    return before != "proposes" and not refuses and (len(text) > _MUCH or _foreign(said))


def _bare(line: str) -> str:
    """Without the nods and thanks at its start."""
    if line.startswith(_PLAIN_STARTS):
        return line
    opened = _OPEN.match(line)
    return line[opened.end() :] if opened else line


def _foreign(said: str) -> bool:
    """Whether these tables have no hold on a text: then to say much is to want something."""
    words = said.split()
    return (len(words) > 3 or (len(said) > 9 and not said.isascii())) and _COMMON.isdisjoint(words)


def _says(line: str) -> Literal["wish", "other", "news", "rest"]:
    words = line.rstrip(_STOPS).replace(",", " ").split()
    if not _OTHER.isdisjoint(words):
        return "other"
    if ("about" in words or "more" in words or "another" in words) and _ANOTHER.match(line):
        return "other"
    if not _TOPICS.isdisjoint(words):
        return "wish"
    if _NEWS.match(line):
        return "wish" if _EXISTS.search(line) else "news"
    if _TO_DO.match(line) or line.endswith(" please"):
        return "wish"
    if line[-1] in MARKS or WH.match(line) or INVERTED.match(line):
        if _EXISTS.match(line):
            return "wish"
        if _HOW.match(line) and _HERE.isdisjoint(words[3:]):
            return "wish"
        if _OWN.search(line) and _POINTS.isdisjoint(words):
            return "wish"
        return "wish" if len(words) > 5 and _HERE.isdisjoint(words) else "news"
    return "wish" if _ORDER.match(line) else "rest"
