"""Languages without tables of their own: the small words that a question mark does not tell.

Without accents and marks, as `plain_latin` leaves them of a text.
"""

PLEASE = (  # an agent's sentence with it, at the end of what it says, asks for something
    r"prosze|prosim(?:e|te)?|molim(?:o)?|var god|vanligen|vennligst|venligst|lutfen|va rugam|tolong"
    r"|mohon|silakan|vui long|kerem|kerjuk|olkaa hyva|пожалуиста"
    r"|будь ласка|παρακαλω|בבקשה|يرجى|لطفا|कृपया|กรณา"
    r"|주세요|부탁"
)
THANKS = (
    r"tack|takk?|tusen takk|kiitos|kiitti|dzieki|dziekuje|dekuji|diky|dakujem|koszonom|multumesc|"
    r"mersi|hvala|blagodarya|terima kasih|makasih|cam on|tesekkur(?:ler)?|sagol|salamat|"
    r"спасибо|благодарю|дякую|благодаря|хвала|ευχαριστω|תודה|شكرا|متشكرم|مرسی|धनयवाद|शुकरिया|"
    r"ขอบคณ|고마워요?|고맙습니다|감사합니다|감사해요"
)
NODS = (
    r"ok|океи|ок|хорошо|да|понял[аи]?|понятно|ясно|отлично|супер|жду|ладно|класс|здорово"
    r"|tak|dobrze|jasne|super|swietnie|rozumiem|czekam|w porzadku|dobra|tamam|evet|peki|harika"
    r"|anladim|olur|네|넵|예|좋아요?|알겠습니다|알겠어요?|응|기다릴게요|نعم|حسنا|تمام|ممتاز|جيد"
    r"|हा[ँं]|ठीक है|अचछा|जी|jo|ja|bra|fint|ano|dobre|igen|da|bine|baik|oke|ναι|ενταξει"
)
STOP = (
    r"стоп|отмена|отмени(?:те)?|не надо|не нужно|хватит|забудь(?:те)?|niewazne|anuluj|nie trzeba"
    r"|dur|iptal(?: et)?|bosver|gerek yok|그만(?:해요?|하세요)?|취소(?:해요?|해주세요)?|됐어요?"
    r"|توقف|الغاء|لا داعي|रुको|रहने दो|avbryt|zrus|stopp?"
)
ELSE = (  # anything else, if you have questions: a courtesy
    r"(?:что|чем)-?(?:нибудь|то|либо) еще|еще (?:чем|что)-|обращаитесь|рада? (?:был[аи]? )?помочь"
    r"|если (?:будут|возникнут|есть|появятся) (?:еще )?вопросы|\bjeszcze (?:cos|w czym)"
    r"|\b(?:cos|czyms) jeszcze|\bw razie (?:pytan|problemow|watpliwosci)|\bbaska (?:bir|ne|sor)"
    r"|더 (?:도와|필요|궁금)|(?:다른|추가) (?:궁금|질문|도움|문의|필요)|언제든지?|궁금한 점"
    r"|شيء اخر|مساعدة اخرى|اي (?:سوال|استفسار)|और (?:कुछ|कोई)|कुछ और"
    r"|\bneco dalsi|\bada (?:yang )?lagi|\b(?:nagot|noget|noe) (?:mer|annat|andet|mere|annet)\b"
    r"|\baltceva\b"
)
BEGINS = (  # a moment, I look
    r"\b(?:одну минут|минут(?:у|ку|очку)|секунд(?:у|очку)|один момент)|\bсеичас\b"
    r"|\b(?:проверю|уточню|посмотрю|проверяю|ищу|начинаю|приступаю|заимусь|сделаю|подождите)\b"
    r"|\b(?:chwil\w*|momencik|sekund\w*|zaraz|sprawdz(?:e|am)|zajme sie|szukam|juz \w+e)\b"
    r"|\b(?:dakika|saniye|hemen|bekleyin)\b|(?:(?<!m)[iıu]yorum|acagim|ecegim)\W*$"
    r"|잠시만?|잠깐만?|겠습니다|(?:하고|보고) 있습니다|(?:하는|확인|처리|진행) 중"
    r"|لحظة|دقيقة|\bجاري?\b|\bس(?:اتحقق|اقوم|اراجع|ابحث|اتاكد)|मिनट|रुकिए|(?:रहा|रही) ह|ूगा|ूंगा"
    r"|\b(?:ogonblick|oyeblikk|moment)\b"
)
