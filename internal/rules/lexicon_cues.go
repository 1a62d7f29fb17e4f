package rules

import (
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// firstPerson are cues that a text is about the speaker, not about the world.
var firstPerson = parseCues("i me my mine we us our you your ich mir mich mein meine wir uns je moi mon ma mes nous yo mi mis nosotros me 我 我们 你")

// noteTypes are the purposes of a text and the cues of each, the most specific first. Cues in
// scripts without spaces match anywhere, others match whole words.
var noteTypes = []struct {
	name string
	cues []string
}{
	{"reminder", parseCues("remind me", "don t forget", "remember to", "deadline", "due by", "erinnere mich", "nicht vergessen", "rappelle moi", "recuérdame", "no olvides", "提醒我", "别忘了")},
	{"request", parseCues("could you", "can you", "would you", "please", "help me", "i need you to", "bitte", "kannst du", "könntest du", "peux tu", "s il te plaît", "puedes", "por favor", "请", "帮我")},
	{"preference", parseCues("i love", "i like", "i enjoy", "i prefer", "i hate", "my favorite", "my favourite", "favorite", "favourite", "i m into", "i m a fan of", "can t stand", "i don t like", "ich mag", "ich liebe", "lieblings", "gefällt mir", "j aime", "j adore", "préféré", "me gusta", "me encanta", "prefiero", "favorito", "favorita", "喜欢", "最爱", "讨厌")},
	{"plan", parseCues("going to", "gonna", "planning", "plan to", "plans", "i ll", "we ll", "will be", "want to", "hope to", "hoping to", "looking forward", "next week", "next month", "next year", "tomorrow", "werde", "werden", "möchte", "morgen", "nächste", "je vais", "nous allons", "demain", "prochaine", "voy a", "vamos a", "mañana", "próxima", "打算", "计划", "明天", "下周", "准备")},
	{"decision", parseCues("decided", "we agreed", "agreed to", "chose to", "entschieden", "beschlossen", "décidé", "decidido", "decidimos", "决定")},
	{"event", parseCues("yesterday", "last week", "last month", "last year", "last night", "last weekend", "ago", "went", "visited", "attended", "happened", "met", "finished", "won", "bought", "started", "moved", "gestern", "letzte", "letzten", "war", "hier", "dernière", "dernier", "suis allée", "suis allé", "ayer", "pasado", "pasada", "fui", "昨天", "上周", "去了", "去年")},
	{"opinion", parseCues("i think", "i believe", "i feel", "in my opinion", "seems", "should", "ich denke", "ich finde", "meiner meinung", "je pense", "je crois", "à mon avis", "creo que", "pienso", "opino", "我觉得", "我认为")},
	{"gratitude", parseCues("thanks", "thank you", "grateful", "appreciate", "danke", "merci", "gracias", "谢谢", "感谢")},
	{"encouragement", parseCues("congrats", "congratulations", "good luck", "proud of you", "well done", "way to go", "you got this", "keep it up", "glückwunsch", "viel glück", "félicitations", "bravo", "felicidades", "suerte", "恭喜", "加油")},
	{"greeting", parseCues("hey", "hi", "hello", "good morning", "how are you", "how have you been", "long time no see", "bye", "see you", "take care", "hallo", "guten tag", "bonjour", "salut", "hola", "buenos días", "你好", "再见")},
}

// interjections carry no content. They describe a note only if it has no other words.
var interjections = wordSet(`hey hi hello hiya bye goodbye wow yeah yes yep yup nope ok okay oh ooh aw aww ah ahh hmm huh haha hahaha lol omg
	btw thanks thank please sorry welcome congrats cheers gonna wanna gotta hallo danke bitte merci bonjour salut gracias hola
	ve ll re don didn doesn isn wasn weren aren won couldn wouldn shouldn haven hasn hadn ain im ive id ill dont cant wont
	etc mm uh um yay ugh alright understood`)

// revisionPatterns match statements that something has changed.
var revisionPatterns = map[text.Language]*regexp.Regexp{
	text.English: regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|n['’]t .{1,40} any ?more|instead|changed (?:to|my|the|his|her|our)|switched (?:to|from)|moved (?:to|from|out)|rescheduled|postponed|canceled|cancelled|turns out|actually not|corrected|replaced)\b`),
	text.German:  regexp.MustCompile(`(?i)\b(?:nicht mehr|kein\w* mehr|stattdessen|geändert|verschoben|abgesagt|umgezogen|doch nicht|früher)\b`),
	text.French:  regexp.MustCompile(`(?i)(?:\bne .{1,30} plus\b|\bn['’].{1,30} plus\b|\bau lieu\b|\bchangé\b|\breporté|\bannulé|\bdéménagé|\bfinalement\b)`),
	text.Spanish: regexp.MustCompile(`(?i)(?:\bya no\b|\ben lugar de\b|\bcambi[oóé]|\baplazad|\bcancelad|\bse mud[oó]|\bme mudé|\bantes\b)`),
	text.Chinese: regexp.MustCompile(`不再|改成|改为|改到|换成|取消|推迟|搬到|其实不`),
}

// negationPatterns match words that negate a statement.
var negationPatterns = map[text.Language]*regexp.Regexp{
	text.English: regexp.MustCompile(`(?i)\b(?:not|never|no longer|cannot|without|hates?|dislikes?|allergic)\b|n['’]t\b`),
	text.German:  regexp.MustCompile(`(?i)\b(?:nicht|nie|niemals|kein|keine|keinen|keinem|keiner|hasse|hasst)\b`),
	text.French:  regexp.MustCompile(`(?i)\b(?:pas|jamais|aucun|aucune|déteste)\b`),
	text.Spanish: regexp.MustCompile(`(?i)\b(?:no|nunca|jamás|ningún|ninguna|odio|odia)\b`),
	text.Chinese: regexp.MustCompile(`不|没|别|讨厌`),
}

// idioms match negations that negate nothing, as in "can't wait".
var idioms = regexp.MustCompile(`(?i)\b(?:can['’]?t wait|can['’]?t believe|not (?:only|just|always|giving up)|(?:never|don['’]?t|won['’]?t) (?:give up|forget|quit|worry)|why not|no problem)\b`)
