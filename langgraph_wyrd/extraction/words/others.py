"""Languages without tables of their own: what is known of them is how they say thanks."""

PLEASE = (  # an agent's sentence with it, at the end of what it says, asks for something
    r"prosze|prosim(?:e|te)?|molim(?:o)?|var god|vanligen|vennligst|venligst|lutfen|va rugam|tolong"
    r"|mohon|silakan|vui long|kerem|kerjuk|olkaa hyva|пожалуйста"
    r"|будь ласка|παρακαλω|בבקשה|يرجى|لطفا|कृपया|กรุณา"
    r"|주세요|부탁"
)
THANKS = (
    r"tack|takk?|tusen takk|kiitos|kiitti|dzieki|dziekuje|dekuji|diky|dakujem|koszonom|multumesc|"
    r"mersi|hvala|blagodarya|terima kasih|makasih|cam on|tesekkur(?:ler)?|sagol|salamat|"
    r"спасибо|благодарю|дякую|благодаря|хвала|ευχαριστω|תודה|شكرا|متشكرم|مرسی|धन्यवाद|शुक्रिया|"
    r"ขอบคุณ|고마워요?|고맙습니다|감사합니다|감사해요"
)
