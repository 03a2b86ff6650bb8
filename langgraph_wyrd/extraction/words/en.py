"""English. Questions and aims have longer tables of their own (`questions.py`, `intentions.py`)."""

COMMON = (
    "the a an i you is are was to of and for on at that this my me your with be have not do "
    "what please will would can could it in how why thanks there if we let don't i'm it's "
    "that's i'll i'd i've you're what's can't won't let's there's doesn't didn't isn't"
)
YOU = r"\b(?:you|your|i|we|please|me|us)\b"
COURTESY = (
    r"^(?:please |now |then )*(?:test|try|check|verify|refresh|reload|rebuild|restart|"
    r"rerun)\b.{0,80}\b(?:let me know|tell me|see) (?:if|whether|how)\b",
    r"\bfeel free\b",
    r"\bhesitate\b",
    r"\bhappy to help\b",
    r"\bhere to help\b",
    r"\b(?:any(?:thing)?|something) (?:else|other|more|further)\b",
    r"\bmake sense\b.{0,12}$",
    r"\bhow (?:else )?(?:i|we) (?:can|may|could) (?:help|assist)\b",
    r"\blet me know (?:how it goes|if (?:you have|that|this|it|anything|something|you (?:run|hit|"
    r"face|get|ever|spot|see|notice|need|want any|have any)))",
    r"^(?:shout|holler|yell|ping me|tell me) if (?:something|anything)\b",
)
OFFERS = (
    r"^(?:does|do) (?:that|this|it|these) make sense\b|^is (?:that|this|it|everything) clear\b",
    r"^would (?:an?|some|more|the) .{3,60}\b(?:be (?:useful|helpful)|help)\W*$",
    r"^(?:and |or |so )?(?:would|do) you (?:also )?(?:like|want|prefer)(?: for)? me to\b",
    r"^(?:and |or |so )?(?:would|do) you (?:also )?(?:like|want|prefer|need) (?:a|an|one|other|"
    r"some|any|the|"
    r"your|these|this|that|it|them|more|help|another|to)\b",
    r"^(?:want|need) (?:it|them|to|me to|more|another|any|help)\b",
    r"^(?:would|will|could) it (?:help|be (?:\w+ )?(?:helpful|useful)) (?:if|to)\b",
    r"^(?:are|is|do|does|would) (?:any|one) of (?:these|those|them)\b.*\binterest",
    r"^is there (?:a|any|some)\b.{1,40}\byou(?:'d| would)? (?:like|want)\b",
    r"^(?:and |or |so )?(?:shall|should) we\b",
    r"^(?:if you(?:'d| would)? (?:like|want|prefer|wish|need|say|tell|share|send|give|paste|"
    r"let))\b",
    r"\blet me know (?:if|whether) (?:you(?:'d| would)? (?:like|want|prefer|need|wish)|i should|"
    r"we should)\b",
    r"\blet me know how you(?:'d| would)? (?:like|want|prefer|wish) (?:me )?to (?:proceed|go on|"
    r"continue)\b",
    r"^(?:just )?say the word\b",
    r"^(?:i|we) (?:can|could) (?:also|next|then)\b",
    r"^(?:and |or |so )?(?:shall|should|can|may) i (?!ask\b|have\b|know\b|get your|assume\b|"
    r"see\b)\w+",
    r"^(?:want|need|fancy|care for) (?:a|an|some|the|to see|more)\b",
)
APPROVAL = (
    r"^may i (?!ask|have|know|help|assist|also|get|take|see|suggest)\w+",
    r"\b(?:shall|should|can|may|do) (?:i|we|you want me to|you want to) (?:now )?(?:proceed|"
    r"go (?:ahead|on)|continue|pay|charge|refund|order|book|cancel|delete|submit|execute)\b",
    r"\bplease (?:confirm|approve)\b",
    r"^(?:confirm|approve)\b",
    r"\b(?:shall|should) i (?:save|create|add|place|register|file|finali[sz]e) (?:this|it|that)\b",
)
DEMANDS = (
    r"^please (?:also )?add (?:the|your|these|those|them|it)\b.*\bto (?:the|this) chat\b",
    r"\bi need you to \w+",
    r"\byou can (?:choose|pick|select) (?:from|between|one|any)\b",
    r"^(?=.+ please$)(?!.*\b(?:moment|wait|hold on)\b)",  # "and your PIN as well please"
    r"(?:^|^to [^,]{2,60}, )please (?:\w+ly )?(?:re-?)?"
    r"(?:enter|provide|select|choose|specify|share|describe|attach|answer|pick)\b"
    r"(?!.*\bif\b)",
    r"^(?:to [\w ]{2,40}),? (?:i|we)(?:'ll| will)? need\b(?! to\b)",
    r"^(?:and |also |additionally,? |then )?(?:i|we)(?:'ll| will| would|'d)?(?: also| still|"
    r" just| only| first)* (?:need|require)\b(?! (?:to\b|a (?:moment|minute|second)|more time))",
    r"\b(?:i|we)(?:'d|'ll| would| will)?(?: just| still| also| first)* need to (?:know|have|see|"
    r"verify|confirm|clarify)\b",
    r"\b(?:would you|you (?:would|could|can)) (?:please )?(?:give|tell|send|share|"
    r"provide)\b(?! me to)",
    r"\b(?:waiting|wait) for (?:your|you)\b",
    r"^(?:please )?(?:paste|upload|attach|send|type|give) (?:me |us |in "
    r"|one |the |your |a |an |either |it |them |that )",
    r"\blet me know (?:which|what|when|where|who)",
    r"^(?:which|what|when|where|who|whose) (?!i\b|we\b|you\b).*\b(?:you|your)\b",
    r"\b(?:can't|cannot|can not|unable to|not able to) (?:go|proceed|continue|get|"
    r"move)\b.{0,25}\b(?:without|until|unless)\b",
    r"^(?:i |we )?(?:just|only|still) need (?:the|your|a|an|one|two|some)\b",
    r"\b(?:i'm|i am|we're) going to need\b(?! (?:to|a (?:moment|minute|second))\b)",
    r"\bplease .{2,60} and (?:then )?(?:share|send|tell|paste|let me know|confirm|reply)\b",
    r"\bplease .{3,80} so (?:that )?(?:i|we) can\b",
    r"^i can\b.*\bwhichever\b",
    r"^(?:please )?(?:type|reply|respond|say|enter|press)\b.{1,80}\bto (?:continue|proceed|"
    r"confirm|approve)\b",
    r"\byour (?:\w+ )?(?:approval|confirmation|permission|input|consent|decision) is \w+ed\b",
    r"\bmissing (?:one|two|three|some|a few)\b",
    r"\b(?:awaiting|needs?) your\b|\b(?:decision|answer|input|confirmation|approval) from you\b",
    r"^kindly \w+",
    r"\b(?:which|what|who) (?:\w+ )?you mean\b",
    r"^(?:still |what's )?(?:open|missing|needed|required): ",
    r"^for [\w ]{2,30},? (?:i|we)(?:'d|'ll| will| would)? (?:still )?need (?!to\b)(?:\w+ ){1,3}",
)
NEEDS = (
    r"^(?:once|as soon as) (?:i|we) (?:have|know)\b|^(?:\S+ ){0,3}ready to \w+\b.{0,40}\b(?:once|"
    r"when|whenever|as soon as) you\b"
)
BEGINS = (
    r"\b(?:i'm|i am|we're|we are|(?:team|department|colleague|specialist)s? (?:is|are))(?: \w+ly| "
    r"now| just"
    r"| still| also)* (?:checking|looking (?:into|at)|reviewing|investigating|working on|searching|"
    r"verifying|processing|going through|pulling|digging)\b",
    r"^please (?:wait|hold)\b(?! (?:for|until) you)|^allow me (?:to|a)\b|^(?:\w+,? )?will (?:check|"
    r"look|"
    r"get back|update|let you know)\b|\bhalfway (?:through|there)\b|\b(?:tests?|build|job|query|"
    r"export|"
    r"import|script|scan|analysis|search|migration|training) (?:is|are) (?:now |currently "
    r")?running\b",
    r"^(?!.*\b(?:your (?:order|drink)|pick(?:ed)? (?:it |them )?up)\b).*\b(?:one|a|just a|give me "
    r"a|1) (?:moment|minute|second(?! (?!please|"
    r"while|to\b)\w)|sec|min|"
    r"few (?:minutes|moments))\b",
    r"\bgive me (?:a |some )?(?:\w+ )?(?:couple of )?(?:sec|second|moment|min|minute|hour|"
    r"time)s?\b",
    r"^(?:please )?(?:hold\b(?! down)|hang on|bear with|stand by|stay tuned)\b",
    r"^(?:(?:\w+ )?\w+[,!.]? )?(?:now |next |first |then |so |okay |ok )?,? ?let me (?!know\b|"
    r"summari|"
    r"explain|be clear|answer|clarify|put it|give you)",
    r"\b(?:i'll|i will|i'm going to|i am going to|i'm about to|we'll|we will|i shall)"
    r"(?: \w+ly| also| then| now| just| first| next| go ahead and| try to| have to| need to)* "
    r"(?!need\b|be (?:happy|glad|here|around|able)|assume|leave|stop|wait\b|not\b|never\b|always\b|"
    r"have to\b|let you decide|miss\b|see you|talk to you|stand by|stick with)\w+",
    r"^(?:(?:sure|ok|okay|yes|still),? )?(?:checking|working|running|starting|looking|searching|"
    r"fetching|loading|pulling|reviewing|investigating|processing|on it|"
    r"will do)\b.{0,60}$",
    r"\b(?:transferring|connecting|forwarding|passing|routing|escalating) (?:you|this|it)\b",
    r"\b(?:it|this|that)(?:'ll| will| should| may| might)? (?:only |just )?takes? (?:\w+ ){1,4}"
    r"(?:seconds?|minutes?|mins?|hours?|while)\b",
    r"\b(?:they|who|someone|somebody|colleague|team|specialist|agent|department|support)(?:'ll|"
    r" will)(?: also| then)? (?:contact|reach|get (?:back|in touch)|call|e-?mail|follow|take care|"
    r"look into|be in touch|respond|reply|assist|help)\b",
    r"\b(?:is|are) still (?:running|queued|pending|going|processing|building|in progress)\b",
    r"\b(?:is|are) (?:now |currently |still )?being \w+(?:ed|t|n)\b.{0,20}$",
    r"\b(?:i|we)(?:'ve| have)? ?(?:haven't|have not|not|didn't|did not) (?:yet )?\w+\b.*\byet\b",
    r"^(?:\w+,? )?let's (?:\w+ ){1,5}by (?:first )?\w+ing\b|^let's (?:first|now|fix|create)\b",
    r"^let's (?:(?:start|begin) (?:by|with)\b|see|look|check|have a look|find out)\b",
    r"\byou(?:'ll| will) hear (?:back )?from (?:us|me)\b",
    r"^@?[\w-]*(?:agent|bot|assistant|expert|analyst|coder|writer|reviewer|planner|"
    r"researcher)\d*[,:] ",
    r"\band (?:i )?(?:will|'ll) (?:(?:write|e-?mail|call|message|ring|ping)(?: to)? you|"
    r"follow up|get back|update|let you know|report|be in touch|come back)\b|\bwill report back\b",
    r"\b(?:is|are|comes?) (?:up )?next(?: (?:step|thing|task|item|one))?\W*$|\bcomes? next\b|"
    r"\bnext up\b|^next (?:comes|is)\b|(?:^|, )(?:that(?:'s| is)|this is) (?:the |my )?next\b",
    r"\b(?:hours?|minutes?|mins?|seconds?) (?:left|to go|remaining)$|\b\d+ more (?:sec|min|hour)",
    r"\bi(?: still|'ll)? (?:have|need) to (?:first )?(?:look|check|find|ask|run|consult)\b",
    r"\bhas started\b|^\w+ (?:still )?in progress\b",
    r"\b(?:i'm|i am|and am|we're) (?:still )?waiting for (?!you)\w+",
    r"\bi(?:'ll| will)? (?:keep (?:on )?|continue |go on |carry on )(?!\w*thing\b|(?:getting|"
    r"seeing|hitting|having|finding|thinking|running into)\b)\w+ing\b",
    r"\bi (?:keep (?:an eye|watch)|watch|monitor|follow up)\b|^i (?:go on|carry on|move on|"
    r"continue|proceed) (?:with|to)\b",
    r"^(?:and )?(?:\d+|one|two|three|four|five|six|some) (?:\w+ )?(?:left|to go|"
    r"remain(?:ing)?)\W*(?::|$)",
)
REFUSES = (
    r"\b(?:don't|do not) have (?:the )?(?:access|permission|rights|authority)",
    r"\bunfortunately\b",
    r"\b(?:i'm|i am|we're|we are) (?:unable|not able|not allowed|not authori[sz]ed|afraid)\b",
    r"\b(?:i|we) (?:can't|cannot|can not|won't|am not able|don't have access|do not have access)\b",
)
# What agents report of their own work.
_DEEDS = (
    r"added|adjusted|applied|booked|built|cancell?ed|changed|cleaned|committed|configured|"
    r"confirmed|converted|copied|corrected|created|deleted|deployed|disabled|enabled|filed|fixed|"
    r"generated|implemented|installed|made|merged|migrated|moved|opened|ordered|placed|posted|"
    r"published|pushed|put|refactored|refunded|registered|removed|renamed|replaced|rescheduled|"
    r"reserved|resolved|restarted|reverted|rewritten|rewrote|saved|scheduled|sent|set up|solved|"
    r"sorted|stored|submitted|switched|translated|updated|uploaded|verified|written|wrote"
)
DONE = (
    r"\b(?:done|finished|completed?|all set|ready|successfully)\b",
    r"\b(?:is|are) (?:now|all)\b",
    r"\bhere(?:'s| is| are| you (?:go|are))\b(?! (?:what|how|why|my)\b| (?:the|a) (?:plan|"
    r"summary of (?:the|your|what)))",
    rf"\bi(?:'ve| have)?(?: just| also| now| already)* (?:{_DEEDS})\b",
    rf"^(?!.*\b(?:when|if|once|until)\b).*\b(?:is|are|was|were|(?:has|have) been|got)(?: \w+ly| "
    rf"now| just| already)* (?:{_DEEDS})\b",
    rf"^(?:\w+ ){{0,3}}(?:{_DEEDS})(?: and \w+)?\W*(?:$|,|in\b|the\b|for\b|as\b|to\b)",
    r"\b(?:passes|pass|passing|green|works|working|clean|in place|live)(?: again| now)?\W*$",
    r"^(?:all )?(?:\w+ ){0,3}tests? (?:\w+ ){0,2}pass",
    r"✅|✔",
)
ALSO = r"\b(?:also|as well|too|another|next|further)\b"
NODS = (
    r"phew|hi|hello|hey|good (?:morning|afternoon|evening|day)|there|ok|okay|k|kk|yes|yeah|yep|"
    r"yup|ya|ye|sure|sure thing|fine|good|great|perfect|nice|cool|awesome|excellent|wonderful|"
    r"amazing|lovely|super|brilliant|alright|all right|right|correct|exactly|indeed|of course|"
    r"absolutely|certainly|definitely|please|no problem|no worries|np|got it|i see|understood|"
    r"i understand|makes sense|sounds? (?:good|great|fine|perfect)|looks? (?:good|great|fine|"
    r"perfect)|lgtm|that works|works for me|wow|oh|ah|hm+|well|so|and|but|then|now|all|very|much|"
    r"it|that|this|is|was|that's|helpful|interesting|noted|agreed|true|fair enough|never better|"
    r"haha|lol|(?:that |this |it )?(?:seems|sounds) (?:ideal|perfect)|take your time|(?:please "
    r")?hurry(?: up)?|asap|it's there|good to hear|(?:that|this) "
    r"(?:was|is) (?:quick|fast|easy|fun)|(?:it|that|this)'s "
    r"working|(?:i'm|i am) (?:happy|satisfied|pleased)(?: with (?:it|that|this))?|(?:that|this|"
    r"it)(?: just| has)? (?:fixed|worked|did|solved|works|helped|helps)|"
    r"welcome|you too|same|love it|will do|let me know|no rush|i'll wait|waiting|(?:good|nice|"
    r"great) (?:job|work|one|stuff)|well done|pls|plz|(?:that's |that is )?(?:good|fair|"
    r"close) enough|(?:i'?ll do|(?:i'?ll )?(?:try|check|test|read|look at)) (?:it|that|this|"
    r"them)(?: out)?(?: (?:tonight|tomorrow|later|today|now|soon|this \w+|on \w+day))?|"
    r"good to know|fine by me|gotcha|works(?: now| again| fine| great)?|(?:sounds?|looks?|"
    r"seems?) (?:right|like a plan|amazing|wonderful|excellent|lovely|nice|cool|awesome)|"
    r"you(?:'re| are| have been|'ve been) (?:a |an |the |such |so |very |really )*(?:helpful|help|"
    r"kind|correct|right|lifesaver|legend|star|best|genius|hero|angel|great|"
    r"awesome|amazing|wonderful)"
)
YES = (
    r"yes|yeah|yep|yup|ya|ye|sure|ok|okay|fine|please do|of course|absolutely|correct|right|"
    r"exactly|sounds good|that works|go ahead|do it|approved?|confirm(?:ed)?|agreed|"
    r"definitely|lgtm|great"
    r"|pls|plz"
)
THANKS = (
    r"thanks?(?: you)?(?: so| very| a)?(?: much| lot| lots| ton| million)?(?: again| anyway|"
    r" indeed)?(?: for [\w' ]{1,40})?|many thanks|thx|ty|cheers|appreciated?|(?:i |much |"
    r"really )+appreciate(?: it| that| [\w' ]{1,30})?"
)
FAREWELL = (
    r"(?:good ?)?bye\b[^;\u3001\uff0c]*",
    r"see (?:you|ya)\b[^;\u3001\uff0c]*",
    r"take care\b[^;\u3001\uff0c]*",
    r"have a (?:good|nice|great|lovely|wonderful)\b[^;\u3001\uff0c]*",
    r"(?:no,? |nope,? )?(?:i (?:guess|think|believe) )?(?:that|this|it)(?:'s| is| was|(?:'s)? will "
    r"be|'ll "
    r"be| would be)?(?: about|"
    r" really)? (?:all|it|everything|enough)\b.{0,50}",
    r"(?:i|we)(?:'m| am|'re| are) (?:all )?(?:good|set|done|fine)\b.{0,40}",
    r"(?:no|nope|nah|nothing|none|no more|not (?:right )?now|not for now|nothing else)",
    r"nothing (?:else|more|further)\b.{0,30}",
    r"(?:no )?(?:more )?questions?",
    r"(?:no,? )?(?:that |it |this )?(?:won't be|will not be|is not|isn't|'s not|not) (?:needed|"
    r"necessary|required)",
    r"(?:alright,? |okay,? )?(?:i'll|i will|let me) (?:get back to you|come back|be back|"
    r"talk to you|try (?:to |figuring|finding|it)|figure|think about it|do it myself|handle it|"
    r"take it from here|sort it)\b[^;\u3001\uff0c]*",
    r"talk (?:to you )?(?:soon|later)\b[^;\u3001\uff0c]*",
    r"(?:good ?night|cheers|later|ciao)",
    r".*###stop###[^;\u3001\uff0c]*",
    r"(?:please )?(?:hold off|not (?:just )?yet|wait(?: with (?:it|that|this))?)(?: (?:on|"
    r"with) (?:it|that|this))?(?: for (?:now|the moment|a bit))?",
    r"(?:just )?(?:letting you know|fyi|for your information|heads[- ]up)\b.*",
    r"(?:please )?hold that thought",
    r"hold on(?: (?:for now))?",
    r"let me (?:first )?(?:check|ask|talk(?! to (?:an?|the|your|some)\b)|think|discuss)(?: (?:with|"
    r"to|about) [\w ]{1,30}| first|"
    r" it over)?",
)
PROCEED = (
    r"(?:please )?(?:(?:go (?:on|ahead)|continue|proceed|carry on) with (?:it|that|this|them|"
    r"your \w+|the (?:plan|changes|rest|next \w+))|go (?:on|ahead|for it)|continue|proceed|"
    r"carry on|keep going|resume|next|move on|do (?:it|that|so|this)(?: now| then| for me)?|"
    r"let's (?:do (?:it|that|this)|go|proceed|continue)|make it so|ship it|start|begin|"
    r"get started|run it|"
    r"try (?:again|it again|once more)|retry|again|once more|run (?:it|that|them|"
    r"this) again|rerun(?: it)?|apply (?:it|that|them|the changes)|implement (?:it|that|"
    r"this|the plan)|start implementation|execute|approved?|confirm(?:ed)?|please do|"
    r"yes please|work on it|finish(?: it)?|as you (?:like|prefer)|either(?: is fine|"
    r" works)?|up to you|you (?:choose|decide))\b"
)
STOP = (
    r"(?:(?:please|actually|just|wait|sorry|you (?:can|may)|hm+|no|oh|ok),? )*(?:stop|cancel|abort|"
    r"halt|quit|drop|leave|forget|scrap|skip|never ?mind|"
    r"nvm)(?: (?:it|that|this|all|everything|about|here|there|right|now|the (?:task|run|work|"
    r"request)|"
    r"what i said|working|please|then|everything|i'?ll|do|it'?s|myself|for (?:now|today|"
    r"the moment)))*",
    r"(?:(?:i|we) )?(?:no longer|don't|dont) (?:need|want) (?:it|that|this|you "
    r"to)\b[^,;\u3001\uff0c]{0,40}",
    r"(?:no,? )?(?:please )?(?:don't|do not|dont)(?: (?:do|run|send|delete|touch) (?:it|that|"
    r"them|anything))?",
    r"no need(?: anymore| any more| to\b.*)?",
    r"(?:actually |please |oh )?(?:don't|dont) bother\b[^,;\u3001\uff0c]{0,40}",
    r"(?:let's|lets|we can|we'll|we should) (?:just )?(?:leave|drop|forget|skip|stop|cancel|"
    r"scrap) (?:it|that|this|there|here|this one|that one)(?: for now)?",
    r"(?:i |we )?(?:just |already )?(?:found|solved|fixed|figured|sorted|worked) (?:it|that|"
    r"this)(?: out)?(?: (?:myself|ourselves|now|already))*",
    r"(?:no longer|not) (?:needed|necessary|relevant|required|interested)(?: any ?more)?",
    r"(?:i|we) (?:no longer|don't|do not|dont) (?:need|want|wish) (?:to|an?|the) .{2,30}any ?more",
    r"(?:it|that|this)(?: has| have|'s)? (?:resolved|fixed|solved|sorted) itself(?: out)?",
    r"(?:i|we)(?:'ve| have)? changed (?:my|our) minds?",
    r"(?:please )?cancel (?:that|this|my|the) (?:request|task|job)",
    r"let's not(?: do (?:it|that|this))?",
    r"(?:i|we) (?:won't|will not) (?:be needing|need) .{0,30}",
    r"leave (?:it|that|this|them) (?:as (?:it )?is|alone|be|there)",
    r"(?:maybe|perhaps)? ?(?:another|some other) time|(?:maybe|perhaps) later|not today",
)
REDIRECT = (
    r"^(?:no[,.;:!]? |wait[,.;:!]? |hm+[,.;:!]? |oh[,.;:!]? |sorry[,.;:!]? |"
    r"ok(?:ay)?[,.;:!]? |but )*(?:actually|instead|rather|on second thought|scratch that|"
    r"never ?mind|nvm|forget|scrap|stop|hold on|change of plans?|let's (?:not|change|switch|"
    r"move on|drop|forget|do something)|i changed my mind|i'?ve changed|cancel (?:it|that|"
    r"this)|drop (?:it|that)|leave (?:it|that)|don't (?:do|bother|worry))\b",
    r"\binstead\b(?! of)",
    r"\binstead of\b",
    r"\bchanged my mind\b",
    r"\bon second thou?ght\b",
    r"\bi (?:actually|really) (?:need|want|meant|don't want)\b",
    r"^(?:no\W+)*(?:(?:wait|hang on|hold on)\W+)?(?:sorry\W+)?i (?:meant|was (?:talking about|"
    r"referring to))\b",
    r"^(?:scratch|scrap) (?!that\b|it\b)\w+",
    r"(?<!sooner )\brather than\b",
    r"^hang on\b",
)
# What people ask to have done; `intentions` knows them, too.
VERBS = (
    r"adapt|add|adjust|analyse|analyze|answer|append|apply|arrange|ask|assign|attach|back up|"
    r"block|book|brainstorm|break|bring|build|bump|buy|calculate|call|cancel|change|check|"
    r"clarify|clean|clone|close|collect|combine|commit|compare|compile|complete|compute|"
    r"configure|connect|convert|copy|count|create|crop|cut|debug|decrease|delete|deliver|"
    r"deploy|describe|design|detect|determine|develop|disable|document|download|draft|draw|"
    r"drop|duplicate|edit|email|embed|enable|encrypt|escalate|estimate|evaluate|expand|"
    r"explain|explore|export|extend|extract|fetch|file|fill|find|finish|fix|focus|format|"
    r"forward|generate|get|give|go ahead|grab|group|guide|hear|help|hide|highlight|identify|"
    r"implement|import|improve|include|increase|insert|install|integrate|investigate|invite|"
    r"issue|join|keep|launch|link|lint|list|listen|load|localize|locate|lock|log|look|lower|"
    r"make|map|mark|measure|merge|message|migrate|mock|modify|monitor|move|mute|name|notify|"
    r"open|optimise|optimize|order|organise|organize|outline|paint|parse|patch|pause|pay|pick|"
    r"plan|play|plot|polish|post|prepare|print|proceed|process|produce|profile|provide|"
    r"publish|pull|purchase|push|put|raise|rank|read|rebase|rebuild|recommend|record|redo|"
    r"reduce|refactor|refresh|refund|register|remind|remove|rename|reorder|repair|replace|"
    r"reply|report|request|rerun|reschedule|research|resend|reserve|reset|resize|resolve|"
    r"respond|restart|restore|resume|retrieve|retry|return|revert|review|revise|rework|"
    r"rewrite|roll|rotate|round|run|save|scale|scan|schedule|scrape|search|secure|see|select|"
    r"send|set|share|shorten|show|sign|simplify|simulate|sketch|solve|sort|split|start|stop|"
    r"store|structure|style|submit|subscribe|suggest|summarise|summarize|switch|sync|tag|take|"
    r"teach|tell|test|tidy|track|transcribe|transfer|transform|translate|travel|trim|try|turn|"
    r"undo|uninstall|unlock|unsubscribe|update|upgrade|upload|use|validate|verify|view|visit|"
    r"visualize|walk me|watch|wire|work|wrap|write"
)
WISHES = (
    r"(?:can|could|would|will) (?:you|we|i|u)\b",
    r"(?:please|pls|plz) \w+",
    r"(?:i|we)(?:'d| would) (?:like|love|prefer|rather) (?:you )?to\b",
    r"(?:i|we) (?:also |just |really |still |actually )*(?:want|need) (?:you )?to\b",
    r"i (?:actually )?(?:don't|do not) want you to\b|have (?:them|him|her|someone|somebody) \w+",
    r"(?:let's|lets) (?!see\b)\w+",
    r"(?:help|show|tell|give|explain to|send|find|get|make|write) (?:me|us)\b",
    rf"(?:{VERBS})\b (?!(?:it|them|that|one)?\W*$)",
    r"do (?:the|a|an|my|our|only|just|not|it (?:for|with|in|on)|this|that) \w+",
)
CONDITIONS = (
    r"^(?:once|if|when|whenever|as soon as|after|unless|should) (?:you|i have|we have|your|"
    r"it|that|the)\b|^in case\b"
)
OPEN = (
    r"\b(?:how (?:can|may|could) (?:i|we) (?:help|assist|be of)|what brings you)|"
    r"\bwhat (?:needs|has) (?:to be )?(?:doing|done|changing|fixing)\b|"
    r"\bwhat (?:exactly )?(?:would|do|can|did) (?:you|i) (?:like|want|need|do|"
    r"have in mind)(?: me| help)?(?: to)?(?: do| change| know| update| with| for you| fix|"
    r" discuss)?\W*$|\bwhat(?:\'s| is) (?:it about|the (?:issue|problem|matter))|\b(?:which|"
    r"what kind of) (?:help|changes?)\b"
)
BARE = (
    r"\bplease$",
    r"^(?:(?:and|or|so|okay|ok|sure|great)[, ]+)*(?:(?:at|in|on|for|to|from|by|"
    r"with) )?(?:which|what|when|where|who|whose|how)\b(?! (?:i|we)\b)",
    r"^(?:(?:and|or|so|okay|ok|sure|great)[, ]+)*(?:whats|wheres|hows|whos|whens) ",
)
MORE = (
    r"\b(?:but|though|however|although|not|no|n't|\w+n't|still|wrong)\b|\b(?:please|pls|"
    r"plz)\b|\b(?:need|want)\b|\bi(?:'d| would)\b"
)
OR = r"\bor\b"
DOING = (
    r"^(?:now |then |next,? |currently )*(?!(?:no|some|any|every)?thing\b|according|regarding|"
    r"depending|including|assuming|concerning|considering|following|during|string|morning|"
    r"evening|meeting|hearing\b|briefing|using\b)[a-z]{3,}ing\b(?!.*\b(?:is|are|was|were|will|"
    r"can|could|has|have|had|means|takes|failed|succeeded|should|would|may|might|works|requires|"
    r"needs|does|did)\b)",
    r"\b(?:i'm|i am|we're|we are|and am|and are) (?:\w+ly |now |just |also |still )*(?!(?:seeing|"
    r"getting|assuming|guessing|missing|wondering|looking forward|hoping|having|struggling|"
    r"referring|talking|being|going|waiting|asking|using)\b)\w{3,}ing\b(?! you\b)",
    r", (?:so |now |i'm )*(?:trying|retrying|checking|switching|running|fixing|looking|"
    r"restarting|continuing|moving on)\b",
)
SOON = r"^(?:once|when|whenever|as soon as|after)\b"
WH = r"^(?:\w+,? ){0,2}(?:what|which|when|where|who|whose|how|why)\b"
KNOW = (
    r"\b(?:check|find out|find|look|tell|explain|analy[sz]e|compare|search|research|review|"
    r"summari[sz]e|list|why|whether|investigate|calculate|what'?s?|which|how'?s?|who'?s?|when|"
    r"where|know|"
    r"any)\b"
    r"|\b(?:options|learn|understand|correct|translate|rewrite|proofread|write|draft)\b"
)
PRAISE = (
    r"great|perfect|awesome|excellent|amazing|brilliant|fantastic|wonderful|nice|cool|lovely|"
    r"love it|sweet|neat|wow|makes sense|that makes sense|phew|yay|finally|good stuff|looks good|"
    r"works|it works|that works|that worked|worked|got it|all good|lifesaver|ha\b|neat|crisp|fab|"
    r"superb|spot on|works like|that explains|you've been (?:super|really|very|so)|all sorted|"
    r"that answers"
)
AND = r"[,;]? (?:and|plus) (?:also |then |please )*"
