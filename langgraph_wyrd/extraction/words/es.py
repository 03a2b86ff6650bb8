"""Spanish: questions open with an inverted mark, which is taken as a mark as well."""

COMMON = (
    "el la los las un una unos de del que y en es por para con mi mis tu tus su sus me te se "
    "lo le no si pero como cual donde cuando gracias hola favor quiero puedes puede necesito "
    "esta este estoy tengo he ha hay ya muy mas bien o al son ser hacer usted ustedes buenos "
    "buenas dias tambien ahora porque todo esto eso voy algo sobre nos"
)
YOU = (
    r"\b(?:usted(?:es)?|tu|te|ti|tus?|su|sus|vos|yo|me|mi|nos|puedes|puede|podria|quieres|"
    r"quiere|prefieres|prefiere|tienes|tiene|deseas?)\b"
)
COURTESY = (
    r"^(?:en que|como|con que) (?:te |le |les |os )?puedo (?:ayudar|servir|asistir)\w*\b",
    r"\b(?:puedes|podes|puede|podrias) (?:comprobarlo|probarlo|verificarlo)\b",
    r"\balg(?:o|una) (?:mas|otra cosa|otra (?:pregunta|duda|consulta)|pregunta|duda)\b",
    r"^(?:y )?en que mas\b|^(?:eso |esto |asi )?(?:seria|es|sera) todo\b",
    r"^(?:esto |eso )?(?:te |le )?(?:resuelve|responde a|soluciona)\b|^(?:esto |eso )?(?:te |le )"
    r"(?:ayuda|sirve)(?: esto| eso| asi)?\W*$",
    r"\b(?:te|le) (?:sirve|ayuda|queda claro)\W*$",
)
OFFERS = (
    r"^(?:queda|esta|quedo) claro\b",
    r"^(?:y |o )?(?:quieres?|deseas?|necesitas?|te gustaria|le gustaria)(?: tambien)? (?:tambien|"
    r"un|una|el|la|los|las|algun|mas|\w+r(?:lo|la|los|las|me|te|le)?)\b.*\?$",
    r"^(?:(?:te|le|se|me|lo|la|los|las) )*(?!necesito|requiero|tengo|puedo|quiero|solo|pero|como|"
    r"todo|"
    r"cuando|cuanto|esto|eso|segundo|adjunto|espero|creo|lo\b|procedo|continuo|"
    r"confirmo)\w{2,}o\b.*\?$",
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria|prefieres?)"
    r"(?: \w+r(?:lo|la|me|te)?\b|\W*$)",
    r"^(?:y |o |u )?(?:quer[ei]s|quieren?|quieres?|desean?|deseas?|te gustaria|le gustaria|"
    r"prefieres?|quisieras?|quisiera)(?: tambien)? que (?:yo |te |le |lo |la |nos )?\w+",
    r"^(?:y |o )?(?:quieres?|quer[ei]s|deseas?|te gustaria|le gustaria) \w+[aei]r(?:l[oae]s?)?\b",
    r"^si (?:quieres|quiere|lo deseas|lo desea|deseas|desea|prefieres|prefiere|gustas|gusta|"
    r"te interesa|le interesa|te parece|le parece|lo prefieres)\b",
    r"^(?:lo|la|los|las) (?!confirm|reserv|compr|envi|cancel|borr)\w{3,}o\W*\?$",
)
APPROVAL = (r"^puedo (?!ayudar|tambien|pregunt|saber)\w+",)
DEMANDS = (
    r"\b(?:sub[ae]|adjunt[ae]|envi[ae]) (?:un|una|el|la|los|las|su|tu)\b.*\bpor favor\W*$|(?:^|: "
    r")(?:y )?"
    r"(?:su|tu) [\w -]{2,30},? por favor\W*$",
    r"^(?:indi(?:ca|que)|ingres[ae]|escrib[ae]|confirm[ae]|envi[ae]|proporcion[ae]) por favor\b|"
    r"^(?:quedo |estoy )?(?:a la espera de|espero|esperando) (?:su|tu|la)\b|\by (?:mand|envi|peg|"
    r"pas|"
    r"d|compart)[aeio]?(?:me|ga?me|ime)\b|\by (?:dime|digame)\b",
    r"^(?:ingres[ae]|escrib[ae]|introduce|introduzca|indi(?:ca|que)|confirm[ae]) (?:tus?|sus?)\b"
    r"(?!.*\b(?:si|y|luego|despues)\b)|^(?:elige|elija|seleccion[ae]) un[oa]?\b",
    r"\bpor favor,? (?:envi[ae]|ingres[ae]|escrib[ae]|indi(?:ca|que)|proporcion[ae]|confirm[ae]|"
    r"seleccion[ae]|elij[ae]|elig[ea]|respond[ae]|describ[ae]|adjunt[ae]|especifi(?:ca|que))\b"
    r"(?!.*\bsi\b)",
    r"\b(?:indicame|indiqueme|dime|digame|proporcioname|proporcioneme|proporcione|enviame|"
    r"envieme|comparte|comparta|compartame|facilitame|faciliteme|facilite|pasame|paseme|"
    r"pegame|confirmame|aclarame|aclareme|dame|deme|cuentame|cuenteme|escribeme|"
    r"especificame)\b(?! si (?:quieres|necesitas|deseas))",
    r"^(?:para (?:[^,]*, |[\w ]{2,30} (?=necesit))|antes .*?, |antes de (?:\w+ ){1,4}?|primero,? |"
    r"tambien |solo |aun |"
    r"todavia )*(?:me )?(?:necesito|necesitaria|necesitamos|requiero|me hace falta|"
    r"nos hace falta|me falta|me faltan|haria falta)\b(?! (?:un (?:momento|minuto|segundo)|"
    r"revisar|verificar|buscar|comprobar|consultar|mas tiempo))",
    r"\bsin (?:el|la|los|las|tu|su|ese|esa) .{2,60}\bno (?:puedo|podemos|es posible)\b",
    r"^(?:responde|responda|escribe|escriba|di|diga|pulsa|envia|manda|arrastra|sube|pega|"
    r"deja)\b.{1,60}\b(?:y (?:yo )?(?:lo|la|te|le|\w+o)\b|aqui\W*$)",
)
NEEDS = r"^(?!si ).*\b(?:puedo|podria) ofrecer(?:le|te)\b.{3,80}\bo\b"
BEGINS = (
    r"\b(?:equipo|departamento|companero|especialista) (?:ya )?(?:lo |la |le )?esta \w+ndo\b|"
    r"\b(?:le|te) "
    r"respondo en cuanto\b|\b(?:primero|ahora) (?:leo|adapto|hago|paso)\b|\bsiguen? (?:corriendo|"
    r"en "
    r"marcha)\b|, (?:ahora )?sigo con\b",
    r"^(?:\w+,? )?(?:yo )?(?:me encargo|trabajo en (?:ello|eso))\b|\blo hago(?: ya| ahora| hoy| "
    r"esta "
    r"\w+| enseguida)*\W*$|^(?:un|dos|unos) (?:segund|minut|moment)\w+\b",
    r"(?:^|, |\b(?:primero|ahora|ahorita|ya|le|lo|la|te|los|las) )(?:abro|comparo|pongo en|checo|"
    r"lanzo|escalo|reenvio|consulto)\b",
    r"\bse pondran? en contacto\b|\b(?:le|te|lo) (?:contactara|respondera|atendera|llamara|"
    r"ayudara)n?\b|"
    r"\b(?:tendra|recibira)s? (?:una )?respuesta\b",
    r"^(?:[\w ]+, )?(?:veamos|revisemos|miremos)\b|\b(?:seguimos|continuamos) \w+ndo\b",
    r"\b(?:un (?:momento|minuto|segundo|instante|momentito)|dame un|deme un|permiteme|permitame|"
    r"dejame|dejeme|enseguida)\b(?! saber)|^(?:espera|espere|aguarda|aguarde)\b",
    r"\b(?:voy|vamos) a \w+|\bprocedo a\b|\bprocedere\b|\bahora (?:reviso|verifico|busco|"
    r"consulto|compruebo|ejecuto|hago|miro)\b",
    r"(?:^|[,;:] |\b(?:y|ahora|ya|si|luego|mientras|tanto|tambien|entonces|yo|lo|la|los|las|te|"
    r"le|me) )(?:reviso|verifico|busco|consulto|compruebo|analizo|investigo|empiezo|comienzo|"
    r"transfiero|derivo|preparo|ejecuto|miro|continuo con)\b",
    r"(?:^|[,;:] |\by )(?:(?:ahora|ya|enseguida|lo|la|los|las|te|le) )*(?:paso|inicio)\b",
    r"\b(?:revisare|verificare|buscare|consultare|comprobare|analizare|investigare|empezare|"
    r"comenzare|me encargare|te avisare|le avisare|te aviso|le aviso|transferire|preparare|"
    r"ejecutare|hare|creare|enviare|informare|implementare|corregire|volvere|contactare|"
    r"calculare|agregare|anadire|usare|intentare|leere|actualizare|te confirmo|le confirmo|"
    r"te informo|le informo|continuare)\b",
    r"\b(?:estoy|estamos) \w+(?:ando|iendo|yendo)\b|\bestoy (?:revisando|verificando|buscando|"
    r"consultando|comprobando|analizando|trabajando|procesando|ejecutando|en ello|preparando|"
    r"investigando)\b",
    r"\b(?:tengo|tenemos) que (?:\w+r(?:lo|la|los|las)?)\b",
    r"^en cuanto [^,]{3,90}, (?!podra|veras?|recibir)",
    r"\b\w{2,}o (?:ahora mismo|enseguida|ya mismo)\b",
    r"\bse esta(?:n)? \w+(?:ando|iendo)\b",
    r"\b(?:sigo|continuo) \w+(?:ando|iendo|yendo)\b",
    r"\ben (?:cola|marcha|curso|ejecucion)\b",
    r"^lo siguiente es\b",
)
REFUSES = (
    r"\b(?:lamentablemente|desafortunadamente|por desgracia|desgraciadamente)\b",
    r"\bno (?:puedo|podemos|es posible|esta disponible|se puede|tengo (?:acceso|permiso)|"
    r"estoy autorizad|puede)\b|\bimposible\b",
)
DONE = (
    r"\b(?:esta|estan|queda|quedan?|quedo)(?: ya| ahora)? (?!ocupad|cerrad|agotad|relacionad|"
    r"limitad|"
    r"equivocad|bloquead|complet)\w{3,}(?:ado|ada|ados|adas|ido|ida|idos|idas)\b|\ben verde\b",
    r"^(?:\w+ ){0,2}\w{3,}(?:ado|ada|ados|adas|ido|ida)\W*(?:$|,)",
    r"\b(?:funciona|pasa|pasan)(?: ya| ahora| bien| correctamente)*\W*(?:$|,)|\b(?:corregi|"
    r"arregle)\b",
    r"\b(?:listo|hecho|terminado|completado|finalizado|aqui (?:tienes|tiene|esta|estan)|"
    r"con exito|correctamente)\b",
    r"\b(?:he|hemos|ha sido|han sido|fue|fueron|ya esta|ya estan|quedo) (?:\w+ )?\w+(?:ado|"
    r"ido|ada|ida|ados|idos|adas|idas|cho|cha|sto|to)\b",
    r"\b(?:agregue|cree|corregi|actualice|elimine|envie|anadi|cancele|reserve|implemente|"
    r"modifique)\b",
    r"✅|✔",
)
ALSO = r"\b(?:tambien|ademas|adicional(?:es|mente)?|asimismo|otr[ao]s?|luego|despues)\b"
NODS = (
    r"uf|menos mal|muy amable|hola|buenas|buenos dias|buenas (?:tardes|noches)|buen dia|ok|okay|"
    r"vale|si|claro|perfecto|genial|excelente|estupendo|bien|muy|muy bien|de acuerdo|entendido|"
    r"entiendo|listo|por supuesto|exacto|exactamente|correcto|por favor|no hay problema|"
    r"sin problema|ah|oh|eh|hm+|pues|y|pero|entonces|bueno|buenisimo|que bien|barbaro|dale|"
    r"fenomenal|interesante|fantastico|super|me parece|suena|todo|esta|eso|lo|es|ya veo|ya|espero|"
    r"avisame|aviseme|quedo atent[oa]|encantad[oa]|tranquil[oa]|no te preocupes|no se preocupe|"
    r"(?:mucho|asi) mejor|buen trabajo|bien hecho|que bueno|guay|(?:lo|la) (?:pruebo|reviso|miro|"
    r"hago|intento)(?: (?:luego|despues|ahora|manana|esta (?:noche|tarde)|hoy))?|"
    r"tomate tu tiempo|tomese su tiempo|se ve bien|maravilloso|bueno saberlo|eso lo (?:arreglo|"
    r"soluciono|resolvio)|que rapido|estoy (?:content[oa]|satisfech[oa])|quedo a la espera|"
    r"ya lo hago(?: yo)?|porfa|ya va (?:bien|de lujo|perfecto)|asi|espero (?:a|hasta) \w+"
)
YES = (
    r"si|claro|vale|ok|okay|de acuerdo|perfecto|por supuesto|dale|adelante|exacto|correcto|"
    r"hazlo|hagalo|esta bien|me parece bien|sip"
)
THANKS = (
    r"(?:muchas |muchisimas |mil )?gracias(?: por [\w ]{1,40})?|(?:te|se|le|"
    r"os)? ?(?:lo )?agradezco(?: [\w ]{1,30})?"
)
FAREWELL = (
    r"(?:no|nada|nada mas|no nada mas|ninguna|por ahora (?:no|nada)|ahora no|de momento no|"
    r"no tengo mas (?:preguntas|dudas)|con eso basta|ya esta)",
    r"(?:no,? )?(?:eso|con eso) (?:es|seria|sera) todo\b.{0,25}|hasta (?:manana|luego|pronto|la "
    r"proxima)",
    r"que tengas? (?:un |una )?(?:buen|lind|bonit|excelent)\w* \w+|buen (?:dia|fin de semana)",
    r"(?:(?:quizas?|tal vez) )?(?:mas tarde|luego)|(?:todavia|aun) no|no (?:hace falta|es "
    r"necesario)",
)
PROCEED = (
    r"(?:si,? por favor|adelante|continua|continue|(?:sigue|siga)(?! (?:en|sin|igual|mal|"
    r"\w+ndo)\b)|procede|proceda|hazlo|hagalo|"
    r"dale|vamos|empieza|empiece|comienza|comience|siguiente|otra vez|de nuevo|"
    r"intentalo (?:de nuevo|otra vez)|intentelo (?:de nuevo|otra vez)|reintenta|repite|"
    r"repitelo|ejecutalo|ejecutalo (?:de nuevo|otra vez)|ejecutala|aplicalo|aplicalos|"
    r"apruebo|aprobado|confirmado|confirmo|lo confirmo|como (?:quieras|prefieras|quiera|"
    r"prefiera)|me da igual|da igual|tu decides|usted decide|cualquiera|implementalo|"
    r"avanza)\b"
)
STOP = (
    r"(?:(?:ok|no|mejor no|al final|perdon|bueno),? )*(?:para|pare|detente|detengase|alto|stop|"
    r"cancela|cancelalo|cancelelo|cancele|aborta|"
    r"olvidalo|olvidelo|olvida|dejalo|dejelo|deja|basta)(?: eso| todo| ya| por favor| asi|"
    r" esto| la tarea| ahora| ahi)*",
    r"mejor no|ya no (?:hace falta|es necesari[oa]|l[oa] necesito|me interesa|quiero \w+(?: "
    r"\w+){0,2})|"
    r"(?:ya )?"
    r"esta (?:resuelto|solucionado|arreglado)|puedes? parar|(?:he cambiado|cambie) de (?:opinion|"
    r"idea)",
    r"dejemoslo(?: asi| estar)?|lo dejamos(?: asi| aqui)?",
    r"(?:ya esta,? )?(?:ya )?lo (?:he )?(?:encontre|encontrado|resuelto|solucione|solucionado|"
    r"consegui|arregle|arreglado)",
    r"al final no (?:hace falta|lo necesito|es necesario)|(?:ya )?(?:vuelve|volvio) a "
    r"funcionar|se (?:ha )?arregl(?:o|ado) solo",
)
REDIRECT = (
    r"^(?:no[,.;:!]? |espera[,.;:!]? |espere[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |oye[,.;:!]? |"
    r"bueno[,.;:!]? |pero |hmm?[,.;:!]? )*(?:en realidad|mejor|en vez|en lugar|olvida(?:lo|"
    r"te)?|olvidelo|deja(?:lo)?|dejelo|para|pare|detente|cambio de planes?|hagamos otra cosa|he "
    r"cambiado de|"
    r"cambie de|pensandolo bien|de hecho|mas bien)\b",
    r"\ben (?:vez|lugar) de\b",
    r"^(?:no\W+)*(?:me referia|queria decir|hablaba de|quise decir)\b",
    r"\b(?:mira|miremos|busca|prueba|pon|usa|haz|manda|envia) mejor\b",
)
VERBS = (
    r"abre|actualiza|agrega|alquila|anade|analiza|apaga|aplica|arregla|averigua|borra|busca|"
    r"calcula|"
    r"cambia|comprueba|compara|convierte|copia|corrige|crea|cuenta(?=me)|da(?=me)|deshaz|dibuja|"
    r"di(?=me)|"
    r"documenta|ejecuta|elimina|encuentra|envia|escribe|explica|exporta|extrae|genera|guarda|haz|"
    r"implementa|importa|instala|lee|limpia|manda|mejora|modifica|mueve|muestra|optimiza|ordena|"
    r"pon|"
    r"prepara|publica|quita|redacta|reemplaza|refactoriza|renombra|repara|reserva(?! \d)|revisa|"
    r"revierte|"
    r"sube|sustituye|traduce|usa|utiliza|valida|verifica"
)
WISHES = (
    rf"(?:ahora |luego |despues |tambien |primero |mejor |y )*(?:{VERBS})(?:me|nos|le|l[oa]s?)* "
    rf"\w+",
    r"(?:yo )?(?:quiero|quisiera|necesito|deseo|queria|querria|busco|me gustaria)\b",
    r"(?:me |nos )?(?:puedes?|podrias?|podria|podemos)\b",
    r"por ?fa(?:vor)?,? \w+",
    r"(?:y |tambien )?(?:como|por que|cuando|cuanto|cuantos|cual|cuales|donde|que|quien)\b.*",
)
CONDITIONS = r"^(?:si|cuando|una vez|en cuanto|tan pronto|despues de que)\b"
OPEN = (
    r"\b(?:(?:en|como) (?:que )?(?:(?:te|le|os|los) )?pu?e?d[oe]mos? (?:ayudar|asistir)|"
    r"motivo de (?:tu|su) (?:visita|llamada|consulta))|"
    r"\b(?:que (?:necesitas?|deseas?|quieres?|te gustaria|le gustaria)|en que (?:consiste|"
    r"puedo)|cual es (?:el|tu|su) problema)\b"
)
MORE = (
    r"\b(?:pero|aunque|no|todavia|aun|sigue|salvo)\b|\bpor ?fa(?:vor)?\b|\b(?:necesit\w+|"
    r"quier\w+|quisiera|gustaria|falta)\b"
)
BARE = (
    r"^(?:y |o |entonces |vale |ok )*(?:(?:a|de|en|para|por|con) )?(?:que|cuale?s?|cuando|"
    r"donde|quien|cuant[oa]s?|como)\b",
)
OR = r"\b[ou]\b"
DOING = (
    r"^(?:ahora |ya |entonces,? |luego )*(?!\w+(?:ado|ido|cho|sto|rto|lto|eto|nto) |como|cuando|"
    r"pero|segundo|todo|tengo|creo|mismo|recomiendo|necesito|puedo|veo|espero|supongo|"
    r"tiempo)\w{3,}o (?:ahora|primero|tambien|con (?:esto|eso|el|la) |el |la |los |las |un |una )",
    r"^(?:ahora |ya )*(?:sigo|continuo|paso|procedo)\b",
)
SOON = r"^(?:cuando|una vez|en cuanto|tan pronto|despues de que)\b"
WH = r"^\W*(?:\w+,? ){0,2}(?:que|cuale?s?|cuando|donde|quien|cuant[oa]s?|como|por que)\b"
KNOW = (
    r"\b(?:revis\w*|mir\w*|busc\w*|encuentr\w*|explic\w*|analiz\w*|compar\w*|muestr\w*|"
    r"resum\w*|list\w*|calcul\w*|averigu\w*|comprueb\w*|si|por que|que|cual\w*|como|cuant\w*|"
    r"cuando|quien|donde)\b"
    r"|\b(?:opciones|corrig\w*|correg\w*|tradu\w*|escrib\w*|redact\w*|aprend\w*|entend\w*)\b"
)
PRAISE = (
    r"genial|perfecto|estupendo|excelente|fantastico|fenomenal|buenisimo|guay|barbaro|que "
    r"bien|muy bien|funciona|ya funciona|por fin|listo"
    r"|(?:es )?(?:justo|exactamente|precisamente) lo que|ya va\b"
)
AND = r"[,;]? [ye] (?:también |luego |después )*"
