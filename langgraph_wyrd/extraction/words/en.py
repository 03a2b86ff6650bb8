"""English. Questions and aims have longer tables of their own (`questions.py`, `intentions.py`)."""

COMMON = (
    "the a an i you is are was to of and for on at that this my me your with be have not do "
    "what please will would can could it in how why thanks there if we let don't i'm it's "
    "that's i'll i'd i've you're what's can't won't let's there's doesn't didn't isn't"
)
YOU = r"\b(?:you|your|i|we|please|me|us)\b"
COURTESY = (
    r"^(?:do you |would you )?(?:want|like) to (?:try|test) (?:it|this|that|them)\b",
    r"^(?:please |now |then )*(?:test|try|give it a (?:try|go)|check|verify|refresh|reload|"
    r"rebuild|restart|rerun)\b.{0,80}\b(?:let me know|tell me|see) (?:if|whether|how)\b",
    r"^(?:do you like (?:it|this|that)|how does (?:it|this|that) look|"
    r"what do you think)\b.{0,10}$",
    r"\bfeel free\b",
    r"\bhesitate\b",
    r"\bhappy to help\b",
    r"\bhere to help\b",
    r"^(?:if|should|whenever) you (?:have|need|run into|get stuck)\b.*\b(?:question|help|"
    r"else|more)",
    r"\b(?:any(?:thing)?|something) (?:else|other|more|further)\b",
    r"^(?:how|what) (?:else )?(?:can|may|could) i (?:help|assist|do)\b",
    r"^(?:does|did|do) (?:that|this|it) (?:help|make sense|answer|clear)",
    r"\bmake sense\b.{0,12}$",
    r"\bhow (?:else )?(?:i|we) (?:can|may|could) (?:help|assist)\b",
    r"\blet me know (?:how it goes|if (?:you have|there'?s? (?:is |are )?any|that|this|it|"
    r"anything|something|you (?:run|hit|face|get|ever|spot|see|notice|need|want any|"
    r"have any)))",
    r"^(?:sound|sounds) (?:good|fun|interesting)\b.{0,6}$",
    r"\b(?:is (?:that|this|it)|does (?:that|this|it) (?:look|work|read)) (?:any )?better\b",
    r"^(?:shout|holler|yell|ping me|tell me) if (?:something|anything)\b",
)
OFFERS = (
    r"^(?:and |or |so )?(?:shall|should|can|may) i (?:also|then|go|add|help|show|explain|"
    r"walk|draft|write|create|generate|set|prepare|provide|look|do|turn|run|send|open|make|"
    r"put|start|update)\b",
    r"^(?:and |or |so )?(?:would|do) you (?:also )?(?:like|want|prefer)(?: for)? me to\b",
    r"^(?:would|do) you (?:also )?(?:like|want) (?:a|an|some|the|your|these|to see|"
    r"to (?:learn|know|go deeper|dive|explore|hear))\b",
    r"^(?:if you(?:'d| would)? (?:like|want|prefer|wish|need|say|tell|share|send|give|paste|"
    r"let))\b",
    r"^want me to\b",
    r"^(?:should|if) you (?:need|want|prefer|wish)\b",
    r"\blet me know (?:if|whether) (?:you(?:'d| would)? (?:like|want|prefer|need|wish)|"
    r"i should|we should)\b",
    r"\blet me know how you(?:'d| would)? (?:like|want|prefer|wish) (?:me )?to (?:proceed|"
    r"go on|continue)\b",
    r"^(?:how|what) would you like (?:me )?to (?:proceed|do(?: next| instead| now)?|"
    r"go on)\W*$",
    r"^(?:just )?say the word\b",
    r"^(?:i|we) (?:can|could) (?:also|next|then)\b",
    r"^(?:interested in|up for|need) (?:a|an|any|some|more|me)\b",
    r"^(?:and |or |so )?(?:shall|should|can|may) i (?!ask\b|have\b|know\b|get your|assume\b|"
    r"see\b|take (?:that|it)\b)\w+",
    r"^(?:want|need|fancy|care for) (?:a|an|some|the|to see|more)\b",
    r"^would you like (?:that|this|it)\W*$",
    r"^(?:should|shall) we\b",
)
APPROVAL = (
    r"^may i (?!ask|have|know|help|assist|also|get|take|see|suggest)\w+",
    r"\b(?:shall|should|can|may|do) (?:i|we|you want me to|you want to) (?:proceed|"
    r"go (?:ahead|on)|continue|deploy|merge|delete|apply|commit|push|execute|book|send|"
    r"cancel|submit|pay|order)\b",
    r"\b(?:would|do) you (?:like|want)(?: me| us)? to (?:proceed|go ahead|continue|apply|"
    r"deploy|commit|push|book|submit|order|pay)\b",
    r"\b(?:ok|okay|fine|ready|alright) (?:to|if i) (?:proceed|go|continue|deploy|merge|run|"
    r"apply)",
    r"\b(?:your|the) (?:approval|confirmation|go-ahead|permission|green light)\b.{0,30}$",
    r"\bplease (?:confirm|approve)\b",
    r"^(?:confirm|approve)\b",
    r"\b(?:anyway|regardless|nonetheless|all the same)\W*$",
    r"\b(?:shall|should|can|may) i (?:now )?(?:reserve|schedule|confirm|refund|charge|"
    r"transfer|publish|sign|block)\b",
    r"\b(?:shall|should) i (?:save|create|add|place|register|file|finali[sz]e) (?:this|it|that)\b",
)
DEMANDS = (
    r"^(?:to [\w ]{2,40}|for (?:this|that)),? (?:i|we)(?:'ll| will)? need\b(?! to\b)",
    r"^(?:and |also |additionally,? |then )?(?:i|we)(?:'ll| will| would|'d)?(?: also| still|"
    r" just| only| first)* (?:need|require)\b(?! (?:to (?:check|look|run|think|see|verify|"
    r"fix|update|add|make|do|find|get|use|go|read|call|change|work|step)\b|a (?:moment|"
    r"minute|second)|more time))",
    r"\b(?:would you|you (?:would|could|can)) (?:please )?(?:give|tell|send|share|"
    r"provide)\b(?! me to)",
    r"\b(?:waiting|wait) for (?:your|you)\b",
    r"^(?:please )?(?:paste|upload|attach|send|share|provide|enter|type|choose|pick|select|"
    r"specify|tell|give) (?:me |us |in |one |the |your |a |an |either |it |them |that )",
    r"\blet me know (?:which|what|when|where|who|how (?:you(?:'d| would)|many|much|long|"
    r"often|to))",
    r"\bcould you (?:please )?(?:share|provide|give|tell|send|paste|confirm|clarify|"
    r"specify)\b",
    r"\b(?:i'?m|still) missing (?:your|the|a|an)\b",
    r"^(?:which|what|when|where|who|whose|how (?:many|much|long|often|soon|far|big|"
    r"large)) (?!i\b|we\b|you\b).*\b(?:you|your)\b",
    r"^(?:please )?(?:type|reply|respond|say|answer|enter|click|press|hit|run|open|sign|log|"
    r"grant|drop|put|paste|upload|attach|send|share|pick|choose|pass)\b.{1,80}\b(?:to "
    r"(?:continue|proceed|go ahead|confirm|approve|authori[sz]e)|and (?:i|we)(?:'ll| will| "
    r"can))\b",
    r"\b(?:can't|cannot|can not|unable to|not able to) (?:go|proceed|continue|get|move|do "
    r"(?:this|that|it|anything))\b.{0,25}\b(?:without|until|unless)\b",
    r"^(?:i |we )?(?:just|only|still) need (?:the|your|a|an|one|two|some)\b",
    r"\b(?:is|are) (?:still )?(?:unclear|not clear to me)\b",
    r"\b(?:i'm|i am|we're) going to need\b(?! (?:to|a (?:moment|minute|second))\b)",
    r"\bplease .{2,60} and (?:then )?(?:share|send|tell|paste|let me know|confirm|reply)\b",
    r"^(?:to [\w ]{2,40}|for (?:this|that)|before [\w ]{2,40}),? (?:i|we)(?:'d|'ll| would| "
    r"will)? need to (?:know|have|see|confirm)\b",
    r"\b(?:i'd|i would|i'll|i will|we'd) (?:want|need|like) your (?:ok|okay|approval|go-ahead|"
    r"blessing|permission|consent|confirmation|sign-off)\b",
    r"\b(?:i|we)(?: just| still| also| first)* need to (?:verify|confirm|clarify|know|"
    r"ask)\b.{0,60}(?:details|your|you|:)",
    r"\bplease .{3,80} so (?:that )?(?:i|we) can\b",
    r"^i can\b.*\bwhichever\b",
    r"\bmissing (?:one|two|three|some|a few)\b",
    r"\byour (?:\w+ )?(?:approval|confirmation|permission|input|consent|decision|okay|reply|"
    r"sign-off) (?:is|are) (?:required|needed|necessary|missing)\b",
    r"\b(?:awaiting|needs?) your\b|\b(?:decision|answer|input|confirmation|approval) from you\b",
    r"^kindly \w+",
    r"\b(?:which|what|who) (?:\w+ )?you mean\b",
    r"^(?:once|as soon as|when) (?:i|we) (?:have|know|get|receive)\b",
    r"^(?:still |what's )?(?:open|missing|needed|required|left to (?:decide|clarify)): ",
    r"^for [\w ]{2,30},? (?:i|we)(?:'d|'ll| will| would)? (?:still )?need (?!to\b)(?:\w+ ){1,3}",
)
NEEDS = (
    r"^(?:if|once|when|as soon as) (?:that|this|it|everything|you)(?:'s|'re| is| are| looks?| "
    r"sounds?| works?)? ?(?:ok|okay|fine|good|right|correct|happy|confirm|approve|agree|give me)"
    r"\b.{0,40}\b(?:i'll|i will|i can|we'll|we will|we can)\b"
    r"|^(?:once|as soon as) (?:i|we) (?:have|know)\b"
    r"|^(?:i|we) (?:can|could) offer you\b.{3,80}\bor\b"
    r"|^(?:\S+ ){0,3}ready to \w+\b.{0,40}\b(?:once|when|whenever|as soon as) you\b"
)
BEGINS = (
    r"\b(?:one|a|just a|give me a|1) (?:moment|minute|sec|min|few (?:minutes|moments))\b",
    r"\b(?:one|a|just a|give me a|1) second\b(?! (?!please|while|to\b)\w)",
    r"^(?:please )?(?:hold on|hang on|bear with|stand by|stay tuned|"
    r"wait(?! (?:until|till|for)\b))\b",
    r"\bplease (?:hold|wait|stand by)\b(?!.*\b(?:before|and (?:then )?(?:try|re)))",
    r"^(?:\w+[,!.]? )?(?:now |next |first |then |so |okay |ok )?,? ?let me (?!know\b|"
    r"summari|explain|be clear|answer|clarify|put it|give you)",
    r"\b(?:i'll|i will|i'm going to|i am going to|i'm about to|we'll|we will|"
    r"i shall)(?: also| then| now| just| first| next| quickly| immediately| go and|"
    r" go ahead and| try to| start by| begin by| proceed to| proceed with| have to| need to|"
    r" be)* (?:look|check|get back|get right|investigate|search|find|see|dig|start|begin|"
    r"proceed|work|run|fetch|pull|review|analy[sz]e|examine|read|scan|take a look|gather|"
    r"collect|report back|follow up|update you|inform|notify|let you know|keep you|"
    r"come back|return|hand|transfer|pass|forward|delegate|assign|ask|call|contact|reach|"
    r"escalate|query|compute|calculate|prepare|draft|write|create|build|fix|implement|add|"
    r"make|test|deploy|open|schedule|send|book|verify|confirm|research|compare|summari[sz]e|"
    r"indicate|tell you|give you|do that|do it|take care|handle|process|looking|checking|"
    r"working|right back|in touch|execute|generate|continue|update|change|remove|delete|"
    r"rename|move|refactor|rerun|try|use|load|download|translate|edit|adjust|apply|cancel|"
    r"set|put|break|split)\b",
    r"^(?:i'm|i am|we're|we are|now|currently|still)(?: now| currently| still| just|"
    r" already)* (?:looking|checking|working|running|searching|investigating|fetching|"
    r"analy[sz]ing|gathering|processing|reviewing|reading|starting|pulling|preparing|on it|"
    r"waiting for the|going to)\b",
    r"^(?:looking|checking|working|searching|investigating|fetching|analy[sz]ing|processing|"
    r"running|pulling|starting|on it|will do|leave it with me|stay on the line)\b.{0,60}$",
    r"\bhand(?:ing)? (?:it |this |you )?(?:off|over|back)\b",
    r"^(?:transferring|connecting|forwarding|passing|routing) (?:you|this|it)\b",
    r"\b(?:is|are) still (?:running|queued|pending|going|processing|building|in progress)\b",
    r"\bi(?: still|\'ll)? have to (?:first )?(?:look|check|find|verify|ask|see|read|dig)\b",
    r"^(?:i\'m|i am|we\'re|we are) (?:\w+ly |now |just |also )*(?!seeing|getting|assuming|"
    r"guessing|missing|wondering|looking forward|hoping|having|struggling|going to (?:assume|"
    r"need))(?:kicking|digging|rolling|setting|putting|making|getting on|fixing|writing|"
    r"moving|adding|building|drafting|splitting|asking|sending|restarting|trying)\b",
    r"\bgive me (?:a |one |two |\d+ |some )?(?:more )?(?:few |couple (?:of )?)?(?:sec|second|"
    r"moment|min|minute|hour|time)s?\b",
    r"\b(?:i|we)(?:'ve| have)? ?(?:haven't|have not|not|didn't|did not) (?:yet )?(?:looked|"
    r"checked|got|gotten|done|started|finished|tested|verified|been able|found out|run|"
    r"reached|tackled|touched)\b.*\byet\b",
    r"^(?:that(?:'s| is| comes)|(?:it )?comes|the rest (?:comes|is)) (?:up )?next\b",
    r"\bnext up\b",
    r"^let's (?:(?:start|begin) (?:by|with)\b|see|look|check|have a look|find out)\b",
    r"\byou(?:'ll| will) hear (?:back )?from (?:us|me)\b",
    r"\b(?:i|we)(?: still| first)? need to (?:first )?(?:run (?:this|it|that) (?:by|past)|"
    r"consult|escalate|clear (?:this|it) with)\b",
    r"^@?[\w-]*(?:agent|bot|assistant|expert|analyst|coder|writer|reviewer|planner|"
    r"researcher)\d*[,:] ",
    r"^(?:once|as soon as|when|after) .*\bi(?:'ll| will| can)\b (?:then )?(?:carry on|"
    r"continue|proceed|go on|finish|resume|move on|try again)\b",
    r"\bwill report (?:back|here)\b",
    r"\band (?:i )?(?:will|'ll) (?:(?:write|e-?mail|call|message|ring|ping)(?: to)? you|"
    r"follow up|get back|update|let you know|report|be in touch|"
    r"come back)\b",
    r"^hold tight\b",
    r"\b(?:is|are|comes?) (?:up )?next$",
    r"\b(?:is|are) (?:now |still )?running in the background\b",
    r"\b(?:hours?|minutes?|mins?|seconds?) (?:left|to go|remaining)$",
    r"\b(?:is|are) (?:now |currently |still )?being (?:processed|reviewed|prepared|generated|"
    r"transferred|shipped|built|deployed|created|checked|investigated|handled|updated|"
    r"uploaded|downloaded|migrated|copied|indexed)\b.{0,20}$",
    r"\bhas started\b",
    r"\b(?:i'm|i am|and am|we're) (?:still )?waiting for (?!you)\w+",
    r"\bcomes? next\b",
    r"^\w+ (?:still )?in progress\b",
    r"\b(?:in the queue|in progress|under ?way)\W*$|\bis (?:running|rendering|uploading|building|"
    r"processing|compiling|syncing)\b.{0,60}\d",
    r"\bi(?:'ll| will)? (?:keep (?:on )?|continue |go on |carry on )"
    r"(?!\w*thing\b|(?:getting|seeing|hitting|having|finding|thinking|running into)\b)\w+ing\b",
    r"(?:^(?:and |so )?|, )(?:that(?:'s| is)|this is) (?:the |my )?next"
    r"(?: (?:step|thing|task|item|one))?\W*$",
    r"\bi (?:keep (?:an eye|watch)|watch|monitor|follow up|report (?:back|when|as soon))\b",
    r"^i (?:go on|carry on|move on|continue|proceed) (?:with|to)\b|\b\d+ more (?:sec|min|hour)",
    r"^next (?:comes|is)\b|^(?:and )?(?:\d+|one|two|three|four|five|six|"
    r"some) (?:\w+ )?(?:left|to go|"
    r"remain(?:ing)?)\W*(?::|$)",
)
REFUSES = (
    r"\b(?:don't|do not) have (?:the )?(?:access|permission|rights|authority)",
    r"\bunfortunately\b",
    r"\b(?:i'm|i am|we're|we are) (?:unable|not able|not allowed|not authori[sz]ed|afraid)\b",
    r"\b(?:i|we) (?:can't|cannot|can not|won't|am not able|don't have access|"
    r"do not have access)\b",
    r"\b(?:not|isn't|it's not) (?:possible|available|supported|allowed|permitted)\b",
    r"\b(?:cannot|can't) be (?:done|added|changed|cancelled|canceled|refunded|modified)\b",
)
DONE = (
    r"\b(?:done|finished|completed?|all set|ready)\b",
    r"\b(?:i've|i have|we've|we have)(?: now| just| already| also| successfully)* \w+(?:ed|"
    r"en|un|ilt|ent|ade|ut|et|ote)\b",
    r"\b(?:has|have) been(?: successfully| now)* \w+",
    r"\b(?:is|are) now\b",
    r"\b(?:added|fixed|created|updated|removed|implemented|deployed|sent|booked|changed|"
    r"renamed|merged|committed|pushed|wrote|written|generated|cancell?ed|refunded|"
    r"scheduled)\b",
    r"\bhere(?:'s| is| are)\b",
    r"\b(?:all )?tests? (?:are |is |now )*(?:pass|green)",
    r"✅|✔",
)
ALSO = (
    r"\b(?:also|as well|too|in addition|additionally|furthermore|besides|another|next|"
    r"more (?:detail|example)|further|extra|afterwards?|follow-up)\b"
)
NODS = (
    r"phew|hi|hello|hey|good (?:morning|afternoon|evening|day)|there|ok|okay|k|kk|yes|yeah|"
    r"yep|yup|ya|ye|sure|sure thing|fine|good|great|perfect|nice|cool|awesome|excellent|"
    r"wonderful|amazing|lovely|super|brilliant|alright|all right|right|correct|exactly|"
    r"indeed|of course|absolutely|certainly|definitely|please|no problem|no worries|np|"
    r"got it|i see|understood|i understand|makes sense|sounds? (?:good|great|fine|perfect)|"
    r"looks? (?:good|great|fine|perfect)|lgtm|that works|works for me|wow|oh|ah|hm+|well|so|"
    r"and|but|then|now|all|very|much|it|that|this|is|was|that's|very (?:good|nice|helpful)|"
    r"helpful|interesting|noted|agreed|true|fair enough|never better|haha|lol|(?:that|this|"
    r"it)(?: just| has)? (?:fixed|worked|did|solved|works|helped|helps)(?: it| the trick|"
    r" now| great| perfectly| well)*|welcome|you too|same|love it|will do|take your time|"
    r"let me know|no rush|i'll wait|waiting|(?:i'?ll )?(?:try|check|test|read|"
    r"look at) (?:it|that|this|them)(?: out)?(?: later| now)?"
    r"|(?:much|way|so much|far|that's|that is|a lot) better(?: now)?|(?:saved|made) my (?:day|"
    r"life|evening)|(?:good|nice|great) (?:job|work|one|stuff)|well done"
    r"|pls|plz"
    r"|(?:that's |that is )?(?:good|fair|close) enough"
    r"|(?:i'?ll do|(?:i'?ll )?(?:try|check|test|read|look at)) (?:it|that|this|them)(?: "
    r"out)?(?: (?:tonight|tomorrow|later|today|now|soon|this \w+|on \w+day))?"
    r"|good to know|fine by me|gotcha|works(?: now| again| fine| great)?"
    r"|(?:sounds?|looks?|seems?) (?:right|like a plan|amazing|wonderful|excellent|lovely|nice|cool|"
    r"awesome)|you(?:'re| are) (?:a |an |the )?(?:lifesaver|legend|star|best|genius|hero|angel|"
    r"great|awesome|amazing|wonderful)"
    r"|i'?ll wait (?:for|until|till) (?:\w+ ?){1,3}"
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
    r"(?:well |ok |oh )*i\'?ll (?:just )?wait(?: then)?|(?:then )?(?:let\'s )?(?:just )?(?:keep|"
    r"leave) it (?:as it is|as is|like that|that way)(?: then)?",
    r"(?:good ?)?bye\b[^;\u3001\uff0c]*",
    r"see (?:you|ya)\b[^;\u3001\uff0c]*",
    r"take care\b[^;\u3001\uff0c]*",
    r"have a (?:good|nice|great|lovely|wonderful)\b[^;\u3001\uff0c]*",
    r"(?:no,? |nope,? )?(?:that|this|it)(?:'s| is| was| will be|'ll be| would be)?(?: about|"
    r" really)? (?:all|it|everything|enough)\b.{0,50}",
    r"that(?:'s| is) what i needed[^;\u3001\uff0c]*",
    r"(?:i|we)(?:'m| am|'re| are) (?:all )?(?:good|set|done|fine)\b.{0,40}",
    r"(?:no|nope|nah|nothing|none|no more|not (?:right )?now|not for now|nothing else)",
    r"nothing (?:else|more|further)\b.{0,30}",
    r"(?:no )?(?:more )?questions?",
    r"(?:alright,? |okay,? )?(?:i'll|i will|let me) (?:get back to you|come back|be back|"
    r"talk to you|try (?:to |figuring|finding|it)|figure|think about it|do it myself|"
    r"handle it|take it from here|sort it|look (?:it up|for it|"
    r"into it) myself)\b[^;\u3001\uff0c]*",
    r"talk (?:to you )?(?:soon|later)\b[^;\u3001\uff0c]*",
    r"(?:good ?night|cheers|later|ciao)",
    r".*###stop###[^;\u3001\uff0c]*",
    r"(?:please )?(?:hold off|hold (?:on )?that|not (?:just )?yet|wait(?: with (?:it|that|"
    r"this))?)(?: (?:on|with) (?:it|that|this))?(?: for (?:now|the moment|a bit))?",
    r"(?:i|we)(?:'ll| will) .*\b(?:myself|ourselves)\b.{0,20}",
    r"(?:that(?:'s| is) )?(?:it|all) for (?:now|today)",
    r"(?:just )?(?:letting you know|fyi|for your information|heads[- ]up)\b.*",
    r"(?:i'm |so )?sorry (?:for|to|about) (?:the |all the )?(?:trouble|bother|bothering|"
    r"hassle|fuss|false alarm|noise)\b.{0,20}",
    r"(?:please )?hold that thought",
    r"hold on(?: (?:a (?:sec|second|minute|moment)|for now))?",
    r"let me (?:first )?(?:check|ask|talk|think|discuss)(?: (?:with|to|about) [\w ]{1,30}| "
    r"first| it over)?",
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
    r"(?:(?:please|actually|just|wait|sorry|you (?:can|may)|hm+),? )*(?:stop|cancel|abort|"
    r"halt|quit|drop|leave|forget|scrap|skip|never ?mind|"
    r"nvm)(?: (?:it|that|this|all|everything|about|here|there|right|now|the (?:task|run|work|"
    r"request)|"
    r"what i said|working|please|then|everything|i'?ll|do|it'?s|myself|for (?:now|today|"
    r"the moment)))*",
    r"(?:it|that)(?:'s| is) (?:no longer|not) (?:needed|necessary|relevant|"
    r"required)[^,;\u3001\uff0c]{0,40}",
    r"(?:i|we) (?:no longer|don't) (?:need|want) (?:it|that|this|"
    r"you to)\b[^,;\u3001\uff0c]{0,40}",
    r"(?:no,? )?(?:please )?(?:don't|do not|dont)(?: (?:do|run|send|delete|touch) (?:it|"
    r"that|them|anything))?",
    r"no need(?: anymore| any more| to\b.*)?",
    r"don't bother\b[^,;\u3001\uff0c]{0,40}",
    r"(?:then |so |please |no,? )*(?:don't|do not|dont) (?!know|have|care|want|think|remember|"
    r"mind|worry|see|understand|need|like|get|believe|forget)\w+(?: (?:it|that|this|them|then|"
    r"yet|now|anymore|please))*",
    r"(?:let's|lets|we can|we'll|we should) (?:just )?(?:leave|drop|forget|skip|stop|cancel|"
    r"scrap) (?:it|that|this|there|here|this one|that one)(?: for now)?",
    r"(?:i |we )?(?:just |already )?(?:found|solved|fixed|figured|sorted|worked) (?:it|that|"
    r"this)(?: out)?(?: (?:myself|ourselves|now|already))*",
    r"(?:it |that |this |everything )?(?:(?:just |suddenly )?(?:started|starts) working|works|"
    r"is working|fixed itself)(?: again| now| fine| by itself| on its own)*",
    r"no longer (?:needed|necessary|relevant|required)",
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
    r"\bi (?:actually|really) (?:need|want|meant)\b",
    r"^(?:no\W+)*(?:(?:wait|hang on|hold on)\W+)?i (?:meant|was (?:talking about|referring to))\b",
    r"^(?:scratch|scrap) (?!that\b|it\b)\w+",
    r"(?<!sooner )\brather than\b",
    r"^hang on\b",
)
WISHES = (
    r"(?:can|could|would|will) (?:you|we|i|u)\b",
    r"(?:please|pls|plz) \w+",
    r"(?:i|we)(?:'d| would) (?:like|love|prefer|rather) (?:you )?to\b",
    r"(?:i|we) (?:want|need) (?:you )?to\b",
    r"how (?:do|can|would|should|could) (?:i|we|you)\b",
    r"(?:let's|lets) (?!see\b)\w+",
    r"(?:help|show|tell|give|explain to|send|find|get|make|write) (?:me|us)\b",
    r"also,? (?:can|could|please|add|make|fix|check|update|tell|show|write|change|remove|do|"
    r"what|how)",
    r"(?:add|build|calculate|change|check|compare|compute|convert|create|debug|delete|"
    r"deploy|design|draft|explain|export|extract|fetch|find|fix|generate|implement|install|"
    r"investigate|list|make|merge|migrate|move|optimi[sz]e|plot|prepare|refactor|remove|"
    r"rename|replace|research|review|rewrite|run|schedule|search|send|show|sort|"
    r"summari[sz]e|test|translate|update|upload|use|write|look (?:at|into|up)|turn|put|set|"
    r"book|cancel|order|transfer|verify|analy[sz]e)\b (?!(?:it|them|that|one)?\W*$)",
)
CONDITIONS = (
    r"^(?:once|if|when|whenever|as soon as|after|unless|should) (?:you|i have|we have|your|"
    r"it|that|the)\b"
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
    r"\b(?:i'll|i will|i'm going to|we'll|we will)(?: \w+ly| also| now| just| first| "
    r"then)* (?!need\b|be (?:happy|glad|here|around|able)|assume|leave|stop|wait\b|not\b|"
    r"never\b|always\b|have to\b|let you decide|miss\b|see you|talk to you|stand by|stick "
    r"with)\w+",
    r"\bso far\b.{0,20}$",
    r"^(?:now |then |next,? |currently )*(?!(?:no|some|any|every)?thing\b|according|regarding|"
    r"depending|including|assuming|concerning|considering|following|during|string|morning|"
    r"evening|meeting|hearing\b|briefing|using\b)[a-z]{3,}ing\b(?!.*\b(?:is|are|was|were|will|can|could|has|have|had|"
    r"means|takes|failed|succeeded|should|would|may|might|works|requires|needs|does|did)\b)",
    r"\b(?:i'm|i am|we're|we are|and am|and are) (?:\w+ly |now |just |also |still "
    r")*(?!(?:seeing|getting|assuming|guessing|missing|wondering|looking forward|hoping|"
    r"having|struggling|referring|talking|being|going|waiting|asking|using)\b)\w{3,}ing\b(?! "
    r"you\b)",
    r", (?:so |now |i'm )*(?:trying|retrying|checking|switching|running|fixing|looking|"
    r"restarting|starting (?!now|today|tomorrow|from|at)|continuing|moving on)\b",
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
    r"love it|sweet|neat|wow|makes sense|that makes sense|phew|yay|finally|good stuff|looks "
    r"good|works|it works|that works|that worked|worked|got it|all good|lifesaver"
    r"|(?:that's|this is|it's|just|exactly|precisely)(?: exactly| just| precisely)* what i "
    r"(?:wanted|needed|was (?:after|looking for))|ha\b|neat|crisp|fab|superb|spot on|works like"
    r"|that explains|you've been (?:super|really|very|so)"
    r"|all sorted|that answers"
)
AND = r"[,;]? (?:and|plus) (?:also |then |please )*"
