package text

import (
	"maps"
	"slices"
)

// conversationWords are words of a question about the conversation, or about the form of the
// answer, instead of the subject. Their stems are included, so every form of a word counts.
var conversationWords = func() map[Language]map[string]bool {
	lists := map[Language]map[string]bool{
		English: wordSet(`tell list mention conversation discuss discussion talk chat say said speak ask question answer reply
			respond response describe explain summarize summarise summary overview outline enumerate compare example provide
			give show detail detailed recall remember remind previous previously earlier order sequence chronological bring brought message session note refer reference
			regard concern involve relate accord based walk step approach different various aspect across throughout
			many much information context specific specifically exactly please only`),
		German: wordSet(`sag sage sagen gesagt nenne nennen genannt erwähnt erwähnen liste auflisten gespräch unterhaltung erzähl erzähle
			erzählen erzählt besprochen besprechen beschreibe beschreiben erkläre erklären zusammenfassen zusammenfassung frage
			fragen antwort erinnere erinnern vorher bitte genau nachricht sitzung`),
		French: wordSet(`dis dire dit mentionner mentionné liste lister conversation discuter discuté parler parlé raconter raconte raconté
			décrire décris expliquer explique résumer résume résumé question réponse rappeler rappelle message détail
			précédemment exactement`),
		Spanish: wordSet(`di dime decir dijo dicho mencionar mencionó mencionado lista enumerar conversación discutir hablar hablado contar
			cuéntame describe describir explica explicar resume resumir resumen pregunta respuesta recordar recuerda mensaje
			detalle anteriormente exactamente`),
		Russian: wordSet(`скажи сказать сказал сказала упомянуть упомянул упомянула список перечисли разговор беседа обсуждали обсуждать
			говорил говорила говорили расскажи рассказать рассказал рассказала опиши описать объясни вопрос ответ напомни
			вспомни сообщение ранее раньше подробно`),
		Chinese: wordSet(`告诉 诉我 列出 列举 提到 提及 说过 说的 对话 谈话 聊天 聊过 讨论 谈到 谈论 总结 概括 描述 解释 说明 回答 问题 记得 回忆
			之前 详细 请问 消息`),
	}
	for lang, words := range lists {
		for _, w := range slices.Collect(maps.Keys(words)) {
			words[Stem(w, lang)] = true
		}
	}
	return lists
}()

// Weak reports whether a word of a question, in any letter case, is about the conversation or the
// form of the answer ("mention", "list", "discuss"), and so says little about what to look for.
// Only English, German, French, Spanish, Russian and Chinese have such words here.
func Weak(word string, lang Language) bool {
	w := Fold(word)
	return conversationWords[lang][w] || conversationWords[lang][Stem(w, lang)]
}
