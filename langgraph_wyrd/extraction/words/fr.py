"""French: inversion ("pouvez-vous"), "est-ce que"; hyphens and apostrophes stay as they are."""

COMMON = (
    "le la les des une un et est je vous tu il elle nous pas que qui pour dans sur avec mon "
    "ma mes votre vos ton ta tes ce cette ces bonjour merci oui non c'est j'ai s'il plait au "
    "aux du ne se plus mais ou comment pourquoi quel quelle peux pouvez faire fait sont etre "
    "suis voudrais moi donc deja tout bien aussi encore peut avez y'a qu'est-ce est-ce "
    "d'accord ça ca en par"
)
YOU = r"\b(?:vous|votre|vos|tu|te|toi|ton|ta|tes|je|nous|me|moi)\b|-(?:vous|tu|je|nous)\b"
COURTESY = (
    r"^(?:tu veux|veux-tu|voulez-vous|vous voulez) (?:le |la |l')?(?:tester|essayer)\b",
    r"^(?:teste|essaie|essaye|verifie|recharge|relance)[sz]?\b.{0,100}\b(?:si (?:ca|cela|c'est|"
    r"tout|le|la|les)|pour voir si)\b",
    r"\b(?:ca|cela|ils|elles?) (?:te|vous) plai(?:t|sent)\W*$",
    r"\b(?:autre chose|d'autres? (?:questions?|demandes?|besoins?|choses?))\b",
    r"\bn'hesite[zs]? pas\b",
    r"\b(?:reste|restons|suis|sommes) (?:a votre|a ta|toujours|disponible|la pour|bien sur)",
    r"\b(?:comment|en quoi|que) puis-je (?:vous |t')?(?:aider|faire|etre utile)",
    r"\bbesoin d'(?:autre chose|aide|une autre|informations? supplementaires?|autres?)\b",
    r"\b(?:je vous en prie|de rien|avec plaisir)\b",
    r"^(?:si|en cas|pour toute) (?:vous avez|tu as|de (?:question|besoin|probleme)|"
    r"(?:autre )?question|besoin).*",
    r"\b(?:ca|cela) (?:vous|te|t')? ?(?:aide|convient-il|parait clair)\W*$",
    r"\best-ce (?:plus )?clair\b",
    r"\bmieux(?: comme (?:ca|cela))?\W*$",
    r"\bdi(?:s|tes)-moi si (?:quelque chose|un point|besoin)\b",
)
OFFERS = (
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu) \w+(?:er|ir|re|oir)\b",
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|aimeriez-vous|"
    r"aimerais-tu|tu veux|vous voulez|voudriez-vous)(?: egalement| aussi)? que (?:je|nous|"
    r"j')",
    r"^(?:et |ou )?(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu) (?:aussi|egalement|"
    r"plus|un exemple|davantage|voir|en savoir)\b",
    r"^(?:si (?:vous (?:le )?(?:voulez|souhaitez|preferez|desirez)|tu (?:le )?(?:veux|"
    r"souhaites|preferes)))",
    r"\b(?:dites|dis)[- ]moi (?:simplement )?si (?:vous|tu|je)\b",
    r"\b(?:fais|faites|laisse[zs]?)[- ]moi savoir si (?:vous|tu|je)\b",
    r"^(?:je peux|nous pouvons|on peut) (?:aussi|egalement|ensuite)\b",
    r"^(?:dois-je|puis-je) (?:aussi|egalement)\b",
    r"^(?:je te|je vous) (?:le |la |les )?(?:fais|prepare|montre|ajoute) (?:aussi|egalement|"
    r"un)\b.*\?",
    r"^je (?:le|la|les) (?!confirm|reserv|command|envoi|annul)\w{3,}(?:e|s)\W*\?$",
)
APPROVAL = (
    r"^(?:puis-je|je peux|est-ce que je peux) (?!(?:vous |t')?aider|aussi|egalement|savoir|"
    r"avoir)\w+",
    r"\b(?:dois-je|puis-je|je peux|est-ce que je peux|est-ce que je dois|"
    r"on peut) (?:continuer|proceder|poursuivre|lancer|deployer|supprimer|appliquer|"
    r"executer|reserver|envoyer|annuler|valider|confirmer|commander|fusionner)",
    r"\b(?:confirmez|confirmes|validez|valides|approuvez|confirme|valide)(?:-vous|-tu|"
    r"[- ]moi)?\b",
    r"\b(?:ca|cela|est-ce que (?:ca|cela)) (?:vous|te) (?:va|convient)",
    r"\b(?:d'accord|est-ce correct|c'est bon)\W*$",
    r"\bvotre (?:accord|confirmation|feu vert|validation|autorisation)\b.{0,30}$",
    r"\b(?:quand meme|malgre tout)\b",
    r"\b(?:je (?:vous|te|le|la|les|l')+ ?(?:le |la |les |l')?(?:reserve|confirme|commande|"
    r"envoie|annule|valide|supprime))\b.*",
    r"\bque je (?!.*\b(?:aussi|egalement)\b).{0,20}(?:reserve|confirme|commande|envoie|annule|"
    r"valide|supprime|publie|deploie)\b",
)
DEMANDS = (
    r"\b(?:veuillez|merci de|priere de)\b(?! (?:votre|pour|patienter|noter|ne pas))",
    r"\b(?:pouvez-vous|pourriez-vous|peux-tu|pourrais-tu|tu peux|vous pouvez|tu pourrais|"
    r"vous pourriez)(?: s'il (?:vous|te) plait)?,? (?:me|m'|nous|preciser|indiquer|"
    r"confirmer|fournir|donner|partager|envoyer|coller|decrire|choisir|clarifier|verifier)",
    r"^(?:donne|donnez|indique|indiquez|envoie|envoyez|precise|precisez|dis|dites|fournis|"
    r"fournissez|choisis|choisissez|colle|collez|partage|partagez|confirme|confirmez|decris|"
    r"decrivez)(?:-moi|-nous| moi)?\b",
    r"^(?:pour .*?, |afin .*?, |d'abord,? |il me faut|il me faudrait|il me manque|"
    r"il me manquerait|il manque|il nous faut)?(?:j'ai|j'aurais|nous avons|"
    r"j'aurai)(?: encore| egalement| d'abord| seulement| juste)? besoin (?:de|du|d'|que|"
    r"des)(?! (?:verifier|regarder|chercher|quelques (?:minutes|secondes)|temps|reflechir))",
    r"\bil me (?:faut|faudrait|manque|manquerait)\b|\bil manque\b",
    r"\b(?:dites|dis|faites|fais|laisse[zs]?)[- ]moi (?:savoir )?(?:quel|quelle|quels|"
    r"quelles|quand|ou|comment|combien|ce que|lequel|laquelle)",
    r"^(?:quel(?:le)?s?|quand|ou|qui|combien|comment|pourquoi|a quelle?|de quelle?|"
    r"pour quelle?|pour combien|lequel|laquelle|que|qu'est-ce|est-ce) .*(?:\b(?:vous|votre|"
    r"vos|tu|te|ton|ta|tes|je|nous)\b|-(?:vous|tu|je))",
    r"^(?:voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|avez-vous|as-tu|etes-vous|es-tu|"
    r"preferez-vous|preferes-tu|puis-je|dois-je|pouvez-vous|peux-tu|est-ce que)\b",
    r"\bj'attends (?:votre|ta|vos|tes)\b",
    r"\bsans (?:le|la|les|votre|ton|ta|vos|cette?|ces) .{2,60}\b(?:je|nous|impossible)\b",
    r"^(?:repondez|reponds|tapez|tape|ecrivez|ecris|dites|dis|envoyez|envoie|deposez|depose|"
    r"glissez|glisse)\b.{1,60}(?:\bet (?:je|nous|on)\b|\bici\b)",
    r"^si (?:vous pouviez|tu pouvais|vous pourriez)\b",
    r"\bil ne (?:me )?manque (?:plus )?que\b",
)
NEEDS = (
    r"^(?:si|des que) (?:ca|cela|tout|c'est|le plan|tu|vous) .{0,25}(?:va|convient|bon|ok|"
    r"d'accord|valide[sz]?|confirme[sz]?|approuve[sz]?)\b.{0,20}, (?:je|j'|on)\b"
    r"|^(?!(?:si |s'il )).*\b(?:dis|dites)[- ]moi (?:ce qu|quel|ou\b|comment|combien|lequel|"
    r"laquelle)"
    r"|^(?!(?:si |s'il )).*\b(?:envoie|envoyez|colle|collez|partage|partagez|donne|donnez)[- "
    r"](?:le |la |les )?moi\b"
    r"|\bpeux (?:vous |te )proposer\b.{3,80}\bou\b"
    r"|^si (?:vous|tu) (?:me |m')(?:donne[sz]?|envoie[sz]?|envoyez|passe[sz]?|indique[sz]?|"
    r"communique[sz]?)\b.{3,90}, je\b"
)
BEGINS = (
    r"\b(?:un (?:instant|moment)|une (?:minute|seconde)|patiente[zr]?|ne quittez pas|"
    r"deux minutes)\b",
    r"\bje (?:vais|m'en occupe|regarde|verifie|cherche|lance|commence|consulte|reviens|"
    r"m'occupe|transmets|transfere|prepare|analyse|recherche|examine|demarre|continue|passe|"
    r"recupere|procede|teste|execute|calcule|lis|corrige|envoie|me renseigne|m'y mets|"
    r"contacte|poursuis|le fais|la fais)\b(?! (?:reste|vous en prie))",
    r"\bnous allons\b|\bon va\b|\blaisse[zs]?[- ]moi (?!savoir)\w+",
    r"\bje (?:vous|te|le|la|les|l'|lui) (?:tiens|recontacte|reviens|rappelle|transfere|"
    r"passe|mets|fais|transmets|confirme|donne|envoie)\b",
    r"\b(?:en cours|c'est parti|tout de suite|ca arrive)\W*$",
    r"\bje (?:suis en train|commencerai|verifierai|regarderai|reviendrai|chercherai|"
    r"enverrai|ferai|m'occuperai)\b",
    r"\bje dois (?:d'abord |encore |juste |avant )*\w+(?:er|ir|re)\b",
    r"^des que [^,]{3,90}, (?:je|nous|on)\b",
    r"\b(?:encore|toujours|deja) en cours\b|\btourne (?:encore|toujours)\b",
    r"\bje (?:vous |te |t\')(?:previens|avertis|ecris|reponds)\b",
    r"^(?:(?:bien|bon|ok|entendu|compris|tres bien),? )?je (?:creuse|fouille|m\'y colle)\b",
    r"\bje n'ai pas encore\b|\bj'y viens\b|\b(?:vient|viendra) ensuite\b",
    r"\ben cours (?:de |d')\w+",
    r"\b(?:en (?:cours|route|attente de traitement))\b|\bil reste (?:environ )?\d+"
    r" (?:min|sec|h)",
    r"^(?:ensuite|apres),? (?:vient|c'est)\b|^(?:il )?reste(?:nt)?\b.{0,30}:",
)
REFUSES = (
    r"\b(?:malheureusement|helas|je regrette)\b",
    r"\bje ne (?:peux (?:pas|plus)|suis pas)\b|\bne (?:peut|peuvent) pas etre\b|"
    r"\bil n'est pas possible\b|\bimpossible\b|\bje n'ai pas (?:acces|la possibilite|"
    r"le droit)",
)
DONE = (
    r"\b(?:c'est fait|termine|fini|voici|voila|pret|reussi|avec succes)\b",
    r"\b(?:j'ai|nous avons|a ete|ont ete|est|sont) (?:\w+ )?\w+(?:e|ee|es|ees|i|ie|is|u|ue|"
    r"us|it|ite)\b",
    r"✅|✔",
)
ALSO = (
    r"\b(?:aussi|egalement|en plus|de plus|en outre|ensuite|supplementaires?|par ailleurs|"
    r"un autre|une autre|d'autres)\b"
)
NODS = (
    r"ouf|vous m'avez (?:bien |beaucoup )?aide(?:e)?|tu m'as (?:bien |beaucoup )?aide(?:e)?|"
    r"bonjour|bonsoir|salut|coucou|hello|ok|okay|oui|ouais|d'accord|parfait|super|genial|"
    r"excellent|bien|tres|entendu|compris|je comprends|je vois|bien sur|exactement|exact|"
    r"c'est|bon|note|volontiers|pas de (?:souci|probleme)|aucun (?:souci|probleme)|nickel|"
    r"impeccable|top|cool|(?:ca|cela) (?:marche|fonctionne|a marche)(?: maintenant| bien)?|"
    r"ah|oh|eh|hum+|alors|et|mais|donc|puis|s'il (?:vous|te) plait|svp|stp|ca marche|ca|"
    r"cela|va|me|convient|tout|clair|interessant|formidable|j'attends|je patiente|"
    r"tenez-moi au courant|tiens-moi au courant|monsieur|madame|(?:je vais )?(?:tester|"
    r"essayer|regarder|verifier)(?: ca| cela)?"
    r"|(?:beaucoup|bien|c'est) mieux|bien joue|beau travail|bravo"
    r"|(?:je |j')(?:le |la |les )?(?:testerai|essaierai|regarderai|verifierai|teste|essaie|"
    r"m'en occupe|m'en charge|le fais)(?: ca| cela)?(?: (?:ce soir|demain|plus tard|tout de "
    r"suite))?"
    r"|comme (?:ca|cela)"
    r"|j'attends (?:jusqu'a |)\w+"
)
YES = (
    r"oui|ouais|d'accord|ok|okay|volontiers|bien sur|exactement|parfait|vas-y|allez-y|"
    r"c'est bon|ca marche|ca me va|avec plaisir|entendu"
)
THANKS = (
    r"(?:un grand |mille |grand )?merci(?: beaucoup| bien| infiniment| a vous| a toi|"
    r" encore| d'avance| mille fois)*(?: (?:pour|de) (?:votre|ton|ta|vos|tes|l'|la|le|les|"
    r"cette|ces|tout)[\w' ]{0,40})?|je (?:vous|te) remercie(?: [\w' ]{1,30})?"
)
FAREWELL = (
    r"laisse[zr]?(?:-moi| moi)(?: y)? (?:reflechir|voir|penser).{0,30}",
    r"(?:bon |ok |alors )*(?:je vais attendre|j\'attends)(?: alors| donc)?",
    r"(?:au revoir|a bientot|a plus(?: tard)?|bonne (?:journee|soiree|nuit|continuation|"
    r"fin)|a demain|adieu|ciao|bye)\b[^;\u3001\uff0c]*",
    r"(?:non[,.! ]*)?(?:c'est|ce sera|c'etait|ca sera) (?:tout|parfait comme ca|"
    r"bon comme ca|suffisant).{0,40}",
    r"(?:non|rien|rien d'autre|non rien|pas pour (?:le moment|l'instant)|pas maintenant|"
    r"plus de questions?|aucune (?:autre )?question|ca ira|ca suffit)",
    r"(?:je (?:reviens|reviendrai|vous recontacte|te recontacte|vais me debrouiller|"
    r"le ferai moi-meme|vais le faire moi-meme|vais y reflechir|vais reflechir|"
    r"m'en charge))\b[^;\u3001\uff0c]*",
    r"(?:non,? )?pas encore|(?:on |j')?attends? (?:encore|un peu)\b.{0,20}",
    r".*\b(?:moi|nous)-memes?\b.{0,20}",
    r"(?:ce sera|c'est) tout pour .*|rien d'autre pour .*",
    r"(?:juste )?pour (?:info|ton information|votre information)\b.*",
    r"desolee? (?:du|pour le) (?:derangement|bruit)",
)
PROCEED = (
    r"(?:(?:oui,? )?je (?:le )?veux bien|(?:vas-y|allez-y|continue[zr]?|poursui[st]|"
    r"poursuivez|procede[zr]?|fais-le|faites-le|lance(?:z)?(?:-le|-la)?|suivant|"
    r"commence[zr]?|demarre[zr]?|encore(?: une fois)?|reessaye?z?|reessaie|recommence[zr]?|"
    r"relance(?:z)?(?:-le|-la)?|applique(?:z)?(?:-le|-la|-les)?|valide[zr]?|je (?:confirme|"
    r"valide|te laisse|vous laisse)|approuve|confirme|execute(?:z)?(?:-le|-la)?|"
    r"a toi de (?:voir|choisir)|comme (?:tu|vous) (?:veux|voulez)|peu importe|fais ca|"
    r"faites ca)(?: s'il (?:te|vous) plait)?)\b"
)
STOP = (
    r"(?:stop|arrete[zr]?|annule[zr]?|abandonne[zr]?|laisse(?:z)?(?: tomber| comme (?:ca|cela))?|"
    r"oublie(?:z)?(?: ca| cela)?|interromps|cesse[zr]?)(?: tout| ca| cela| la| s'il (?:te|"
    r"vous) plait| svp| stp| la tache| maintenant| tomber| de suite)*",
    r"(?:ce n'est|c'est) (?:plus|pas) (?:necessaire|la peine|utile)[^,;\u3001\uff0c]{0,40}",
    r"(?:je n'en ai|on n'en a|nous n'en avons|plus) (?:plus|"
    r"pas)? ?besoin[^,;\u3001\uff0c]{0,40}",
    r"(?:non,? )?(?:surtout pas|ne (?:le |la |les |l')?\w+ (?:pas|rien))",
    r"(?:tant pis|finalement non|non finalement|c'est (?:bon|regle|resolu)(?: maintenant)?)",
    r"laissons (?:tomber|ca|comme ca)",
    r"(?:c'est bon,? )?j'ai (?:trouve|resolu|regle)(?: moi-meme| tout seul)?|trouve|(?:ca |"
    r"tout )?(?:remarche|refonctionne)(?: tout seul| maintenant)?",
    r"plus besoin(?: finalement)?|finalement (?:plus|pas) besoin",
    r"(?:peut-etre )?une autre fois|peut-etre plus tard",
)
REDIRECT = (
    r"^(?:non[,.;:!]? |attends?[,.;:!]? |attendez[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |"
    r"oh[,.;:!]? |mais |hmm?[,.;:!]? )*(?:en fait|finalement|plutot|au lieu|a la place|"
    r"oublie|oubliez|laisse[zs]?(?: tomber)?|stop|arrete[zr]?|changement|tout compte fait|"
    r"j'ai change d'avis|reflexion faite|en realite)\b",
    r"\bplutot\b",
    r"\ba la place\b",
    r"\bau lieu d",
    r"\bchange d'avis\b",
    r"^(?:non\W+)*je (?:parlais|pensais a|voulais dire|faisais reference)\b",
    r"\bplutot que\b",
)
WISHES = (
    r"(?:pouvez-vous|pourriez-vous|peux-tu|pourrais-tu|est-ce que (?:tu peux|vous pouvez|"
    r"je peux|tu pourrais|vous pourriez)|tu peux|vous pouvez|tu pourrais|vous pourriez|"
    r"puis-je|on peut|peut-on)\b",
    r"(?:je (?:veux|voudrais|souhaite|souhaiterais|aimerais)|j'aimerais|j'ai besoin|il faut|"
    r"il faudrait)\b.*\b\w{2,}(?:er|ir|re|oir)\b",
    r"(?:aide|aidez|montre|montrez|explique|expliquez|donne|donnez|envoie|envoyez|trouve|"
    r"trouvez|fais|faites|dis|dites|cherche|cherchez|ecris|ecrivez)(?:-moi|-nous| moi)\b",
    r"(?:ajoute|cree|corrige|supprime|modifie|change|verifie|teste|calcule|compare|traduis|"
    r"resume|analyse|genere|refais|remplace|prepare|cherche|ecris|fais|mets|lance|utilise|"
    r"trace|installe|explique|liste|trouve|reserve|renomme|affiche)z? (?:le|la|les|un|une|"
    r"des|l'|mon|ma|mes|ce|cette|ces|du|aussi|plutot|tout|en|moi|sur|tous)\b",
    r"(?:et |aussi,? )?(?:comment|pourquoi|quand|combien|quel(?:le)?s?|ou|qu'est-ce|qui|"
    r"est-ce que)\b.*",
)
POLITE = (
    r"(?:pouvez-vous|pourriez-vous|peux-tu|pourrais-tu|est-ce que (?:vous pouvez|tu peux)|"
    r"tu peux|vous pouvez)(?: m'| me | nous )?(?:aider|faire quelque chose|"
    r"faire ca)?(?: s'il (?:te|vous) plait)?(?: avec ca)?",
    r"(?:est-ce|c'est) possible",
    r"(?:qu'en (?:pensez-vous|penses-tu)|qu'est-ce que (?:tu en penses|vous en pensez))",
    r"comment (?:allez-vous|vas-tu|ca va)|ca va",
    r"(?:alors,? )?(?:des nouvelles|du nouveau|c'est (?:fait|bon|pret)|ca avance|ou "
    r"en (?:es-tu|etes-vous|est-on))|(?:tu es|vous etes) (?:encore |toujours )?la",
)
PROPOSES = (
    r"\b(?:ca|cela) (?:vous|te) (?:va|convient|irait|conviendrait)\b|\bqu'en (?:pensez-vous|"
    r"penses-tu|dites-vous|dis-tu)\b|\bque (?:diriez|dirais)-"
)
CONDITIONS = r"^(?:si|des que|une fois|quand|lorsque|apres)\b"
OPEN = (
    r"\b(?:que (?:souhaitez|voulez|souhaites|veux|puis)|qu'est-ce que (?:vous|tu) (?:voulez|"
    r"veux|souhaitez|souhaites)|de quoi (?:avez|as|s'agit)|quel est (?:le|votre|"
    r"ton) (?:probleme|souci))\b"
)
BARE = (
    r"\bs'il (?:vous|te) plait$|\b(?:svp|stp)$",
    r"^(?:et |ou |alors |ok |d'accord )*(?:(?:a|de|pour|en|avec|dans) )?(?:quel(?:le)?s?|"
    r"quand|ou|qui|combien|comment|lequel|laquelle|que|qu'est-ce|est-ce)\b",
    r"\b(?:ca|cela) (?:vous|te) (?:va|convient)",
)
FAILED = r"\b(?:a echoue|echec|refusee?s?|rejetee?s?|bloquee?s?|n'a pas (?:pu|marche|fonctionne))\b"
MORE = (
    r"\b(?:mais|pourtant|pas|encore|toujours|sauf)\b|\bs'il (?:te|vous) plait\b|\b(?:stp|"
    r"svp)\b|\b(?:besoin|veux|voudrais|aimerais|faudrait)\b"
)
OR = r"\bou\b"
DOING = (
    r"^je (?:(?:le|la|les|l'|lui|vous|te|t'|m'|me|en|y) ?)*(?!pense|crois|recommande|suggere|"
    r"conseille|suis\b|comprends|souhaite|espere|propose|peux|dois|regrette|trouve|prefere|"
    r"doute|remercie|reste|n'|ne\b|viens de|constate|vous en prie)\w{2,}(?:e|s)\b",
    r"\b(?:pour l'instant|pour le moment|jusqu'ici|jusqu'a present)\b",
)
SECOND = r"\b(?:vous|votre|vos|tu|te|toi|ton|ta|tes)\b|\bt'"
SOON = r"^(?:des que|une fois|quand|lorsque|apres)\b"
WH = (
    r"^(?:\w+,? ){0,2}(?:quel(?:le)?s?|quand|ou|qui|combien|comment|pourquoi|lequel|laquelle|"
    r"que|qu'est-ce|qu'est ce|quoi|est-ce que (?!(?:tu|vous|je|on)\b))\b"
)
THEN = r"^(?:maintenant|ensuite|aussi|et|pour|avec|en|puis|sans)\b"
KNOW = (
    r"\b(?:verifi\w*|regarde\w*|cherche\w*|trouve\w*|expliqu\w*|analys\w*|compar\w*|montre\w*|"
    r"resum\w*|liste\w*|calcul\w*|si|pourquoi|quel\w*|comment|combien|quand|qui)\b"
    r"|\b(?:corrig\w*|tradui\w*|ecri\w*|redig\w*|appren\w*|compren\w*)\b"
)
PRAISE = (
    r"super|genial|parfait|excellent|nickel|top|impeccable|formidable|bravo|ca marche|ca "
    r"remarche|ca fonctionne|enfin|trop bien|tres bien|chouette"
    r"|c'est (?:exactement|precisement|pile) ce qu\w*|exactement ce qu\w*|pile ce qu\w*"
)
AND = r"[,;]? (?:et|puis) (?:aussi |puis |ensuite )*"
