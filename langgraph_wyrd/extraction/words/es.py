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
    r"\b(?:puedes|podes|puede|podrias) (?:comprobarlo|probarlo|verificarlo)\b",
    r"^(?:quieres?|te gustaria) (?:probarlo|probarla|probar|testearlo)\b",
    r"^(?:prueba|pruebe|proba|probalo|pruebalo|verifica|recarga|refresca|"
    r"intenta)\b.{0,100}\b(?:si (?:funciona|ya|ahora|todo|sigue)|para ver si)\b",
    r"\b(?:te|le) (?:gusta|gustan)(?: asi)?\W*$",
    r"\b(?:algo|alguna (?:otra )?(?:cosa|pregunta|duda|consulta)|en que|en algo) (?:mas|"
    r"otra?)\b",
    r"\balg(?:o|una) (?:mas|otra cosa|otra (?:pregunta|duda|consulta)|pregunta|duda)\b",
    r"\bno (?:dudes|dude|duden) en\b",
    r"\b(?:estoy|quedo|estamos|quedamos|seguimos) (?:a tu|a su|aqui|a la orden|"
    r"a disposicion|atent|para)",
    r"\b(?:en que|como) (?:mas )?(?:te |le |les |lo |la )?(?:puedo|podria|"
    r"podemos) (?:ayudar|asistir|servir|apoyar)",
    r"\b(?:de nada|con gusto|un placer|encantado)\b",
    r"^si (?:tienes|tiene|necesitas|necesita|surge|hay|te surge|le surge) (?:alguna?|"
    r"otr[ao]s?|mas|algo|dudas?|preguntas?|ayuda|cualquier)",
    r"\b(?:te|le) (?:sirve|ayuda|queda claro)\W*$",
    r"^(?:esta|queda) claro\W*$",
    r"\bmejor (?:asi|ahora)\W*$|\basi (?:esta |va )?mejor\W*$",
)
OFFERS = (
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria) \w+[aei]r(?:lo|la|los|las)?\b",
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria|prefieres?|quisieras?|"
    r"quisiera)(?: tambien)? que (?:yo |te |le |lo |la |nos )?\w+",
    r"^(?:y |o )?(?:quieres?|deseas?|te gustaria|le gustaria) (?:tambien|ver|un ejemplo|mas|"
    r"saber|recibir|profundizar)\b",
    r"^si (?:quieres|quiere|lo deseas|lo desea|deseas|desea|prefieres|prefiere|gustas|gusta|"
    r"te interesa|le interesa|te parece|le parece|lo prefieres)\b",
    r"\b(?:avisame|aviseme|dime|digame|hazme saber|hagame saber|indicame) si (?:quieres|"
    r"quiere|deseas|desea|prefieres|prefiere|necesitas|necesita|te gustaria|le gustaria|"
    r"debo|lo)",
    r"^(?:tambien )?(?:puedo|podria|podemos) (?:tambien|ademas|ayudarte a|ayudarle a)\b",
    r"^tambien (?:puedo|podria)\b",
    r"^(?:te|le) (?:preparo|muestro|ayudo|hago) (?:tambien|ademas|un)\b",
    r"^(?:(?:te|le|se|lo|la|los|las) )*(?!necesito|requiero|tengo|puedo|quiero|solo|pero|como|"
    r"todo|segundo|adjunto|espero|creo)\w{3,}o (?:el|la|los|las|un|una|lo|tambien|otro|"
    r"otra)\b.*\?$",
    r"^(?:lo|la|los|las) (?!confirm|reserv|compr|envi|cancel|borr)\w{3,}o\W*\?$",
)
APPROVAL = (
    r"^puedo (?!ayudar|tambien|pregunt|saber)\w+",
    r"\b(?:procedo|continuo|puedo (?:proceder|continuar|seguir|eliminar|desplegar|aplicar|"
    r"ejecutar|reservar|enviar|cancelar)|debo (?:proceder|continuar|seguir)|"
    r"quieres? que (?:proceda|continue|siga|lo (?:ejecute|aplique|envie|despliegue|reserve|"
    r"cancele|elimine))|desea que proceda|desea continuar|deseas continuar|sigo adelante|"
    r"lo (?:envio|reservo|cancelo|publico|aplico))\b",
    r"\b(?:me )?(?:confirmas?|apruebas?|autorizas?|confirme|confirmame|confirmeme)\b",
    r"\b(?:te|le) parece (?:bien|correcto)",
    r"\b(?:de acuerdo|es correcto|esta bien|correcto)\W*$",
    r"\b(?:tu|su) (?:aprobacion|confirmacion|autorizacion|visto bueno)\b.{0,30}$",
    r"\bde tod[oa]s (?:modos|formas|maneras)\b",
    r"\b(?:(?:quieres?|desea|deseas) que|(?:te|se|le)) (?!.*\btambien\b).{0,20}(?:reserv[eo]|"
    r"confirm[eo]|compr[eo]|envi[eo]|cancel[eo]|publi(?:que|co)|borr[eo]|agend[eo])\b",
)
DEMANDS = (
    r"\bpor favor,? (?:especifica|especifique|elige|elija|selecciona|seleccione|describe|"
    r"describa|escribe|escriba|sube|suba|adjunta|adjunte|ingresa|ingrese|confirma|confirme|"
    r"indica|indique|envia|envie|pega|pegue|comparte|comparta|introduce|introduzca|responde|"
    r"responda)\b",
    r"^(?:especifica|especifique|confirma|confirme|indica|indique|comparte|comparta|"
    r"describe|describa|pega aqui|pegue aqui|adjunta|adjunte|elige una|elija una)\b",
    r"\b(?:indicame|indiqueme|dime|digame|proporcioname|proporcioneme|proporcione|enviame|"
    r"envieme|comparte|comparta|compartame|facilitame|faciliteme|facilite|pasame|paseme|"
    r"pegame|confirmame|aclarame|aclareme|dame|deme|cuentame|cuenteme|escribeme|"
    r"especificame)\b(?! si (?:quieres|necesitas|deseas))",
    r"\b(?:puedes|puede|podrias|podria|podes) (?:por favor )?(?:indicar|decir|proporcionar|"
    r"enviar|compartir|facilitar|pasar|confirmar|especificar|dar|aclarar|describir|"
    r"verificar|precisar)",
    r"^(?:para (?:[^,]*, |[\w ]{2,30} (?=necesit))|antes .*?, |primero,? |tambien |solo |aun |"
    r"todavia )*(?:me )?(?:necesito|necesitaria|necesitamos|requiero|me hace falta|"
    r"nos hace falta|me falta|me faltan|haria falta)\b(?! (?:un (?:momento|minuto|segundo)|"
    r"revisar|verificar|buscar|comprobar|consultar|mas tiempo))",
    r"\b(?:hazme|hagame|dejame|dejeme) saber (?:que|cual|cuando|donde|como|cuanto|quien)",
    r"^(?:a |de |en |para |por |con |desde |hasta )?(?:que|cuale?s?|cuando|donde|quien|"
    r"cuant[oa]s?|como|cuanto) .*\b(?:usted|tu|te|tus?|su|sus|le|quieres?|deseas?|"
    r"prefieres?|necesitas?|tienes?|gustaria|quisieras?|puedes?|me|es|fecha|hora)\b",
    r"\b(?:quedo|estoy) a la espera de (?:tu|su)\b|\bespero (?:tu|su) (?:respuesta|"
    r"confirmacion)",
    r"\bsin (?:el|la|los|las|tu|su|ese|esa) .{2,60}\bno (?:puedo|podemos|es posible)\b",
    r"^(?:responde|responda|escribe|escriba|di|diga|pulsa|envia|manda|arrastra|sube|pega|"
    r"deja)\b.{1,60}\b(?:y (?:yo )?(?:lo|la|te|le|\w+o)\b|aqui\W*$)",
    r"^si (?:me |nos )?(?:pudieras?|pudiera)\b",
)
NEEDS = (
    r"^(?:si|cuando|en cuanto) (?:te parece bien|le parece bien|estas de acuerdo|esta de acuerdo|"
    r"todo esta bien|esta bien|confirmas|confirme|me confirmas|apruebas|das el visto bueno)"
    r"\b.{0,20},? \w+o\b"
    r"|^(?!si ).*\b(?:dime|digame|decime|cuentame|cuenteme|contame|avisame|mandame|pasame|enviame|"
    r"pegame|"
    r"compartime) (?:que|si (?:se|aparece|sale|te|le|da)|cual|como|donde|cuando|el|la|los|las|lo "
    r"que)\b"
    r"|^(?!si ).*\b(?:puedo|podria) ofrecer(?:le|te)\b.{3,80}\bo\b"
    r"|^si me (?:das?|pasas?|envias?|mandas?|dices?|facilitas?|compartes?)\b.{3,90}, (?:puedo|lo|"
    r"la|te|\w+o)\b"
)
BEGINS = (
    r"\b(?:un (?:momento|minuto|segundo|instante|momentito)|dame un|deme un|permiteme|"
    r"permitame|dejame|dejeme|enseguida)\b(?! saber)|^(?:espera|espere|aguarda|aguarde)\b",
    r"\b(?:voy|vamos) a \w+|\bprocedo a\b|\bprocedere\b|\bahora (?:mismo )?(?:lo |"
    r"la )?(?:reviso|verifico|busco|consulto|compruebo|ejecuto|hago|miro)\b",
    r"(?:^|[,;:] |\b(?:y|ahora|ya|si|luego|mientras|tanto|tambien|entonces|yo|lo|la|los|las|te|le|"
    r"me) )(?:reviso|verifico|"
    r"busco|consulto|compruebo|analizo|"
    r"investigo|empiezo|comienzo|me (?:pongo|encargo|ocupo)|transfiero|derivo|preparo|"
    r"ejecuto|miro|continuo con)\b",
    r"(?:^|[,;:] |\by )(?:(?:ahora|ya|enseguida|lo|la|los|las|te|le) )*(?:paso|inicio)\b",
    r"\b(?:revisare|verificare|buscare|consultare|comprobare|analizare|investigare|empezare|"
    r"comenzare|me encargare|te avisare|le avisare|te aviso|le aviso|transferire|preparare|"
    r"ejecutare|hare|creare|enviare|informare|implementare|corregire|volvere|contactare|"
    r"calculare|agregare|anadire|usare|intentare|leere|actualizare|te confirmo|le confirmo|"
    r"te informo|le informo|continuare)\b",
    r"\b(?:estoy|estamos) \w+(?:ando|iendo|yendo)\b|\bestoy (?:revisando|verificando|"
    r"buscando|consultando|comprobando|analizando|trabajando|procesando|ejecutando|en ello|"
    r"preparando|investigando)\b",
    r"^(?!(?:considerando|sabiendo|teniendo|siendo|resumiendo|dependiendo|suponiendo|"
    r"recordando|cuando|comparando|mirando|segun)\b)\w+(?:ando|iendo|yendo)\b(?!,)",
    r"^(?:revisando|verificando|buscando|consultando|procesando|trabajando)\b",
    r"\b(?:tengo|tenemos) que (?:\w+r(?:lo|la|los|las)?)\b",
    r"^en cuanto [^,]{3,90}, (?!podra|veras?|recibir)",
    r"\b(?:sigue|siguen|aun|todavia|continua) en (?:marcha|curso|proceso|ejecucion)\b|\bsigue "
    r"(?:corriendo|ejecutandose)\b",
    r"^(?:(?:vale|bien|ok|de acuerdo|claro|perfecto),? )?lo (?:investigo|miro|veo|arreglo|"
    r"corrijo)\b",
    r"\b(?:todavia|aun) no (?:he|lo he|la he|pude|hemos)\b|\b(?:eso )?viene (?:ahora|despues|"
    r"a continuacion)\b",
    r"\b\w{2,}o (?:ahora mismo|enseguida|ya mismo)\b",
    r"\bse esta(?:n)? \w+(?:ando|iendo)\b",
    r"\ben (?:cola|marcha|curso|ejecucion)\b",
    r"\b(?:faltan|quedan) (?:unos |unas )?\d+ (?:min|seg|hora)",
    r"^(?:despues|luego|ahora) (?:viene|va|toca)\b|^lo siguiente es\b|^(?:quedan|faltan)\b.{0,30}:",
)
REFUSES = (
    r"\b(?:lamentablemente|desafortunadamente|por desgracia|desgraciadamente)\b",
    r"\bno (?:puedo|podemos|es posible|esta disponible|se puede|tengo (?:acceso|permiso)|"
    r"estoy autorizad|puede)\b|\bimposible\b",
)
DONE = (
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
    r"uf|menos mal|me (?:ayudaste|ayudo|has ayudado) mucho|muy amable|hola|buenas|"
    r"buenos dias|buenas (?:tardes|noches)|buen dia|ok|okay|vale|si|claro|perfecto|genial|"
    r"excelente|estupendo|bien|muy|muy bien|de acuerdo|entendido|entiendo|listo|"
    r"por supuesto|exacto|exactamente|correcto|por favor|no hay problema|sin problema|ah|oh|"
    r"eh|hm+|pues|y|pero|entonces|bueno|buenisimo|(?:ya |ahora )?(?:funciona|funciono|"
    r"sirvio)(?: bien| ya| perfecto)?|que bien|barbaro|dale|fenomenal|interesante|"
    r"fantastico|super|me parece|suena|todo|esta|eso|lo|es|ya veo|ya|espero|avisame|aviseme|"
    r"quedo atent[oa]|(?:lo|la) (?:pruebo|reviso|miro)(?: luego| despues| ahora)?|"
    r"voy a (?:probarlo|revisarlo|mirarlo)|encantad[oa]|tranquil[oa]|no te preocupes|"
    r"no se preocupe"
    r"|(?:mucho|asi) mejor|buen trabajo|bien hecho|que bueno|guay"
    r"|(?:lo|la) (?:pruebo|reviso|miro|hago|intento)(?: (?:luego|despues|ahora|manana|esta "
    r"(?:noche|tarde)|hoy))?|ya lo hago(?: yo)?|porfa|ya va (?:bien|de lujo|perfecto)"
    r"|asi"
    r"|espero (?:a|hasta) \w+"
)
YES = (
    r"si|claro|vale|ok|okay|de acuerdo|perfecto|por supuesto|dale|adelante|exacto|correcto|"
    r"hazlo|hagalo|esta bien|me parece bien|sip"
)
THANKS = (
    r"(?:muchas |muchisimas |mil )?gracias(?: de nuevo| de antemano| a ti| a usted|"
    r" igualmente)?(?: por [\w ]{1,40})?|(?:te|se|le|"
    r"os)? ?(?:lo )?agradezco(?: [\w ]{1,30})?"
)
FAREWELL = (
    r"(?:dejame|dejeme) (?:pensar|ver|consultar)\w*.{0,20}",
    r"(?:me )?lo (?:voy a pensar|pienso|pensare).{0,20}",
    r"(?:bueno |ok |pues |entonces )*(?:espero|esperare|lo dejo asi|dejalo asi)(?: entonces)?",
    r"(?:adios|hasta (?:luego|pronto|manana|la proxima)|chao|chau|que (?:tengas|tenga|pases|"
    r"pase)|buen (?:dia|fin)|feliz|nos vemos|saludos|cuidate|bye)\b[^;\u3001\uff0c]*",
    r"(?:no[,.! ]*)?(?:eso|esto|con eso|con esto) (?:es|seria|era|fue) (?:todo|"
    r"suficiente).{0,40}",
    r"(?:no[,.! ]*)?(?:es|seria) todo.{0,30}",
    r"(?:no|nada|nada mas|no nada mas|ninguna|por ahora (?:no|nada)|ahora no|de momento no|"
    r"no tengo mas (?:preguntas|dudas)|con eso basta|ya esta)",
    r"(?:yo )?(?:lo hare yo|lo hago yo|lo resuelvo yo|me encargo yo|lo pensare|volvere|"
    r"vuelvo luego|te escribo|lo intentare|ya lo busco|lo busco yo)\b[^;\u3001\uff0c]*",
    r"(?:todavia|aun) no|espera (?:un poco|con eso|todavia)\b.{0,20}",
    r".*\b(?:yo mism[oa]|nosotr[oa]s mism[oa]s|por (?:mi|nuestra) cuenta)\b.{0,20}",
    r"(?:solo )?para que (?:lo sepas|sepas|estes al tanto)\b.*",
    r"(?:perdon|perdona|disculpa|disculpe|siento) (?:por )?(?:la|las) molestias?",
)
PROCEED = (
    r"(?:si,? por favor|adelante|continua|continue|sigue|siga|procede|proceda|hazlo|hagalo|"
    r"dale|vamos|empieza|empiece|comienza|comience|siguiente|otra vez|de nuevo|"
    r"intentalo (?:de nuevo|otra vez)|intentelo (?:de nuevo|otra vez)|reintenta|repite|"
    r"repitelo|ejecutalo|ejecutalo (?:de nuevo|otra vez)|ejecutala|aplicalo|aplicalos|"
    r"apruebo|aprobado|confirmado|confirmo|lo confirmo|como (?:quieras|prefieras|quiera|"
    r"prefiera)|me da igual|da igual|tu decides|usted decide|cualquiera|implementalo|"
    r"avanza)\b"
)
STOP = (
    r"(?:para|pare|detente|detengase|alto|stop|cancela|cancelalo|cancelelo|cancele|aborta|"
    r"olvidalo|olvidelo|olvida|dejalo|dejelo|deja|basta)(?: eso| todo| ya| por favor| asi|"
    r" esto| la tarea| ahora| ahi)*",
    r"ya no (?:hace falta|es necesario|lo necesito|la necesito|quiero|"
    r"necesito)[^,;\u3001\uff0c]{0,40}",
    r"no (?:hace falta|es necesario|te preocupes|importa).{0,25}",
    r"(?:no,? )?no (?:lo |la |los |las )?(?:hagas|haga|borres|envies|elimines)",
    r"(?:mejor no|da igual|ya lo (?:resolvi|solucione|arregle)|"
    r"ya se resolvio)[^,;\u3001\uff0c]{0,40}",
    r"dejemoslo(?: asi| estar)?|lo dejamos(?: asi| aqui)?",
    r"(?:ya esta,? )?(?:ya )?lo (?:he )?(?:encontre|encontrado|resuelto|solucione|solucionado|"
    r"consegui|arregle|arreglado)",
    r"al final no (?:hace falta|lo necesito|es necesario)|(?:ya )?(?:vuelve|volvio) a "
    r"funcionar|se (?:ha )?arregl(?:o|ado) solo",
    r"(?:mejor |quizas? )?(?:en otro momento|otro dia|mas adelante)|quizas? mas tarde",
)
REDIRECT = (
    r"^(?:no[,.;:!]? |espera[,.;:!]? |espere[,.;:!]? |ah[,.;:!]? |ok[,.;:!]? |oye[,.;:!]? |"
    r"bueno[,.;:!]? |pero |hmm?[,.;:!]? )*(?:en realidad|mejor|en vez|en lugar|olvida(?:lo|"
    r"te)?|olvidelo|deja(?:lo)?|dejelo|para|pare|detente|cambio de planes?|he cambiado de|"
    r"cambie de|pensandolo bien|de hecho|mas bien)\b",
    r"\ben (?:vez|lugar) de\b",
    r"\bmejor (?:haz|hazlo|hagamos|escribe|usa|busca|cambia|dame|quiero|hagalo|pon)",
    r"\bcambi(?:e|ado) de (?:opinion|idea|planes?)\b",
    r"^(?:no\W+)*(?:me referia|queria decir|hablaba de|quise decir)\b",
    r"\b(?:mira|miremos|busca|prueba|pon|usa|haz|manda|envia) mejor\b",
)
WISHES = (
    r"(?:puedes|puede|podrias|podria|podes|podemos|puedo|es posible|me (?:puedes|puede|"
    r"podrias|podria))\b",
    r"(?:quiero|quisiera|necesito|me gustaria|deseo|queremos|necesitamos|"
    r"prefiero)\b.*\b\w{2,}(?:ar|er|ir|arlo|erlo|irlo|arla|arme|erme)\b",
    r"(?:ayudame|ayudeme|muestrame|muestreme|explicame|expliqueme|dame|deme|enviame|envieme|"
    r"buscame|hazme|dime|digame|encuentra|encuentrame)\b",
    r"(?:agrega|anade|crea|corrige|elimina|borra|modifica|cambia|revisa|prueba|calcula|"
    r"compara|traduce|resume|analiza|genera|haz|reemplaza|prepara|busca|escribe|pon|ejecuta|"
    r"usa|instala|explica|lista|reserva|cancela|actualiza|renombra|ordena|grafica|verifica|"
    r"implementa|arregla|quita|mueve|convierte) (?:el|la|los|las|un|una|mi|mis|ese|este|"
    r"esta|esto|eso|todo|todos|tambien|otro|otra|al|en|que)\b",
    r"(?:y |tambien )?(?:como|por que|cuando|cuanto|cuantos|cual|cuales|donde|que|quien)\b.*",
)
POLITE = (
    r"(?:me |nos )?(?:puedes|puede|podrias|podria|podes)(?: ayudar(?:me|nos)?| hacerlo|"
    r" hacer eso)?(?: con (?:eso|esto))?(?: por favor)?",
    r"(?:es|seria) posible",
    r"que (?:te|le) parece|que opinas?",
    r"como (?:estas?|te va|le va)|que tal",
    r"(?:hay |alguna )?(?:novedad(?:es)?|noticias)|(?:ya )?(?:esta|quedo)(?: listo)?|como "
    r"va(?: eso)?|sigues ahi|sigue ahi",
)
PROPOSES = (
    r"\bque (?:te|le|les) parece\b|\b(?:te|le) parece\b|\bque tal\b|\b(?:te|le) (?:gusta|"
    r"sirve|conviene|va bien|viene bien|interesa|queda bien)\b"
)
CONDITIONS = r"^(?:si|cuando|una vez|en cuanto|tan pronto|despues de que)\b"
OPEN = (
    r"\b(?:que (?:necesitas?|deseas?|quieres?|te gustaria|le gustaria)|en que (?:consiste|"
    r"puedo)|cual es (?:el|tu|su) problema)\b"
)
FAILED = (
    r"\b(?:fallo|ha fallado|rechazad[oa]s?|bloquead[oa]s?|denegad[oa]s?|no (?:funciono|se "
    r"pudo|pude))\b"
)
MORE = (
    r"\b(?:pero|aunque|no|todavia|aun|sigue|salvo)\b|\bpor ?fa(?:vor)?\b|\b(?:necesit\w+|"
    r"quier\w+|quisiera|gustaria|falta)\b"
)
BARE = (
    r"^(?:quieres?|deseas?|tienes?|puedes?|podrias?|prefieres?|te gustaria|le gustaria|eres|"
    r"esta usted|desean|quisiera)\b",
    r"\bpor favor$",
    r"^(?:y |o |entonces |vale |ok )*(?:(?:a|de|en|para|por|con) )?(?:que|cuale?s?|cuando|"
    r"donde|quien|cuant[oa]s?|como)\b",
)
OR = r"\b[ou]\b"
DOING = (
    r"^(?:ahora |ya |entonces,? |luego )*(?!\w+(?:ado|ido|cho|sto|rto|lto|eto|nto) |como|cuando|"
    r"pero|segundo|todo|tengo|creo|mismo|recomiendo|necesito|puedo|veo|espero|supongo|"
    r"tiempo)\w{3,}o (?:ahora|primero|tambien|con (?:esto|eso|el|la) |el |la |los |las |un |una )",
    r"^(?:ahora |ya |entonces,? |enseguida |a continuacion,? |asi que )*(?:lo|la|los|"
    r"las) (?!siento|lamento|tengo|veo|se\b|creo|recomiendo|puedo|agradezco)\w{3,}o\b",
    r"^(?:ahora |ya )*(?:sigo|continuo|paso|procedo)\b",
    r"\b(?:de momento|hasta ahora|por ahora)\b",
)
SECOND = (
    r"\b(?:usted(?:es)?|tu|te|tus?|su|sus|quieras?|tengas|confirmes?|envies?|pases|digas?|"
    r"indiques?|facilites?|respondas|decidas|desees?|prefieras?|necesites?)\b"
)
SOON = r"^(?:cuando|una vez|en cuanto|tan pronto|despues de que)\b"
WH = r"^\W*(?:\w+,? ){0,2}(?:que|cuale?s?|cuando|donde|quien|cuant[oa]s?|como|por que)\b"
THEN = r"^(?:ahora|luego|tambien|y|para|con|en|sin|entonces|pues)\b"
KNOW = (
    r"\b(?:revis\w*|mir\w*|busc\w*|encuentr\w*|explic\w*|analiz\w*|compar\w*|muestr\w*|"
    r"resum\w*|list\w*|calcul\w*|averigu\w*|comprueb\w*|si|por que|que|cual\w*|como|cuant\w*|"
    r"cuando|quien|donde)\b"
    r"|\b(?:corrig\w*|correg\w*|tradu\w*|escrib\w*|redact\w*|aprend\w*|entend\w*)\b"
)
PRAISE = (
    r"genial|perfecto|estupendo|excelente|fantastico|fenomenal|buenisimo|guay|barbaro|que "
    r"bien|muy bien|funciona|ya funciona|por fin|listo"
    r"|(?:es )?(?:justo|exactamente|precisamente) lo que|ya va\b"
)
AND = r"[,;]? [ye] (?:también |luego |después )*"
