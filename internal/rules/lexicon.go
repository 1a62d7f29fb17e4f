package rules

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// topicWords are the domains for tags and the words of each, by language. Tags are English for a
// note in any language, so that they can be compared. A word may belong to several domains.
var topicWords = []struct {
	topic string
	words map[text.Language]string
}{
	{"family", map[text.Language]string{
		text.English: "family mom mum mother dad father parent son daughter brother sister kid child children baby husband wife grandma grandmother grandpa grandfather uncle aunt cousin nephew niece marriage wedding adopt adoption pregnant toddler",
		text.German:  "familie mutter vater eltern sohn tochter bruder schwester kind kinder oma opa hochzeit mann frau",
		text.French:  "famille mère père parents fils fille frère sœur enfant enfants mariage mari femme grand-mère",
		text.Spanish: "familia madre padre padres hijo hija hermano hermana niño niños boda esposo esposa abuela abuelo",
		text.Chinese: "家人 家庭 妈妈 爸爸 父母 儿子 女儿 哥哥 弟弟 姐姐 妹妹 孩子 结婚 奶奶 爷爷",
	}},
	{"relationships", map[text.Language]string{
		text.English: "friend friendship boyfriend girlfriend partner date dating neighbor neighbour relationship breakup roommate colleague hug together mentor community",
		text.German:  "freund freundin freundschaft partner nachbar beziehung", text.French: "ami amie amis amitié copain copine voisin relation",
		text.Spanish: "amigo amiga amigos amistad novio novia vecino relación", text.Chinese: "朋友 男朋友 女朋友 邻居 同事",
	}},
	{"health", map[text.Language]string{
		text.English: "health doctor hospital sick ill illness medicine medication pain surgery injury therapy therapist dentist diet sleep allergy allergic blood exercise fitness gym yoga workout stretching clinic nurse vaccine headache recovery weight anxiety",
		text.German:  "gesundheit arzt ärztin krankenhaus krank medizin schmerz schmerzen therapie schlaf allergie", text.French: "santé médecin hôpital malade médicament douleur thérapie sommeil allergie",
		text.Spanish: "salud médico hospital enfermo medicina dolor terapia sueño alergia", text.Chinese: "健康 医生 医院 生病 药 疼 治疗 睡眠 锻炼 过敏",
	}},
	{"emotions", map[text.Language]string{
		text.English: "happy sad proud stress stressed worried worry anxious afraid fear angry lonely emotional grateful joy nervous overwhelmed relieved upset tough struggle courage inspire inspiring motivation motivated peace calm comfort",
		text.German:  "glücklich traurig stolz stress angst wütend einsam freude sorge", text.French: "heureux heureuse triste fier fière stress peur colère joie inquiet",
		text.Spanish: "feliz triste orgulloso orgullosa estrés miedo enojado alegría preocupado", text.Chinese: "开心 高兴 难过 骄傲 压力 害怕 生气 孤独 担心",
	}},
	{"work", map[text.Language]string{
		text.English: "work job career office boss manager meeting interview promotion salary company business client project team startup store shop customer colleague coworker resume internship employer employee contract presentation report",
		text.German:  "arbeit beruf büro chef firma kunde projekt besprechung vertrag gehalt kollege", text.French: "travail emploi bureau patron entreprise client projet réunion contrat salaire collègue",
		text.Spanish: "trabajo empleo oficina jefe empresa cliente proyecto reunión contrato sueldo", text.Chinese: "工作 公司 老板 同事 会议 项目 客户 面试 合同 办公室",
	}},
	{"education", map[text.Language]string{
		text.English: "school university college class course study student teacher exam homework degree lecture lesson learn learning scholarship graduate graduation professor research thesis workshop tutor",
		text.German:  "schule universität kurs studium student lehrer prüfung lernen unterricht", text.French: "école université cours étude étudiant professeur examen apprendre leçon",
		text.Spanish: "escuela universidad curso estudio estudiante profesor profesora examen aprender clase", text.Chinese: "学校 大学 课程 学习 学生 老师 考试 作业 上课",
	}},
	{"food", map[text.Language]string{
		text.English: "food cook cooking recipe restaurant dinner lunch breakfast eat meal cake bake baking bread coffee tea pasta pizza soup salad cheese chocolate vegetarian vegan kitchen taste delicious dessert fruit vegetable rice chicken wine beer grill snack lasagna pie cookie flour dish",
		text.German:  "essen kochen rezept restaurant abendessen mittagessen frühstück kuchen brot kaffee tee küche suppe", text.French: "cuisine cuisiner recette restaurant dîner déjeuner manger gâteau pain café thé fromage soupe repas",
		text.Spanish: "comida cocinar receta restaurante cena almuerzo desayuno comer pastel pan café té sopa", text.Chinese: "吃 做饭 餐厅 晚饭 午饭 早饭 蛋糕 咖啡 茶 菜 面条 饺子",
	}},
	{"travel", map[text.Language]string{
		text.English: "travel trip vacation holiday flight airport hotel train journey passport abroad tourist tour road visit beach cruise luggage destination sightseeing itinerary ferry",
		text.German:  "reise urlaub flug flughafen hotel zug koffer ausland strand", text.French: "voyage vacances vol aéroport hôtel train valise étranger plage",
		text.Spanish: "viaje vacaciones vuelo aeropuerto hotel tren maleta extranjero playa viajar", text.Chinese: "旅行 旅游 飞机 机场 酒店 火车 行李 出国 海滩",
	}},
	{"nature", map[text.Language]string{
		text.English: "nature hike hiking camp camping mountain forest lake river ocean sea sunset sunrise garden gardening plant flower tree park trail bird wildlife outdoors outdoor beach waterfall tomato seed soil sky star bee insect butterfly frost meadow animal",
		text.German:  "natur wandern berg berge wald see fluss garten pflanze blume baum vogel", text.French: "nature randonnée montagne forêt lac rivière jardin plante fleur arbre oiseau",
		text.Spanish: "naturaleza senderismo montaña bosque lago río jardín planta flor árbol pájaro", text.Chinese: "自然 爬山 森林 湖 河 花园 植物 花 树 鸟",
	}},
	{"weather", map[text.Language]string{
		text.English: "weather rain rainy snow sunny storm wind heat temperature cloud forecast umbrella thunder", text.German: "wetter regen schnee sonne sturm wind", text.French: "météo pluie neige soleil tempête vent",
		text.Spanish: "clima lluvia nieve sol tormenta viento", text.Chinese: "天气 下雨 下雪 晴天 台风 气温",
	}},
	{"pets", map[text.Language]string{
		text.English: "pet dog cat puppy kitten vet hamster rabbit turtle fish parrot horse leash shelter", text.German: "haustier hund katze welpe tierarzt kaninchen pferd", text.French: "animal chien chat chiot vétérinaire lapin cheval",
		text.Spanish: "mascota perro perra gato gata cachorro veterinario conejo caballo", text.Chinese: "宠物 狗 猫 小狗 小猫 兽医",
	}},
	{"sports", map[text.Language]string{
		text.English: "sport soccer football basketball tennis run running race marathon swim swimming bike cycling team coach match game tournament score championship ski surf surfing climb climbing golf baseball hockey training league skate boxing",
		text.German:  "sport fußball laufen rennen schwimmen fahrrad trainer spiel turnier mannschaft", text.French: "sport football course courir nager vélo entraîneur match tournoi équipe",
		text.Spanish: "deporte fútbol correr carrera nadar bicicleta entrenador partido torneo equipo", text.Chinese: "运动 足球 篮球 跑步 游泳 比赛 马拉松 教练",
	}},
	{"music", map[text.Language]string{
		text.English: "music song concert band guitar piano sing singer singing album violin drum melody festival playlist orchestra choir lyrics jazz tune instrument", text.German: "musik lied konzert band gitarre klavier singen", text.French: "musique chanson concert groupe guitare piano chanter",
		text.Spanish: "música canción concierto banda guitarra piano cantar", text.Chinese: "音乐 歌 演唱会 吉他 钢琴 唱歌 乐队",
	}},
	{"art", map[text.Language]string{
		text.English: "art paint painting draw drawing sketch artist museum gallery photo photography photograph camera sculpture pottery craft design creative exhibit exhibition canvas portrait knit knitting clay dance dancing theater theatre poem poetry sewing",
		text.German:  "kunst malen bild zeichnen museum foto fotografie ausstellung tanzen theater", text.French: "art peinture peindre dessin musée photo photographie exposition danse théâtre",
		text.Spanish: "arte pintura pintar dibujo museo foto fotografía exposición baile teatro", text.Chinese: "艺术 画 绘画 博物馆 照片 摄影 展览 舞蹈 书法",
	}},
	{"entertainment", map[text.Language]string{
		text.English: "movie film show series episode tv actor cinema game gaming video videogame console comic cartoon watch party festival comedy podcast puzzle chess board", text.German: "film serie kino fernsehen schauspieler spiel", text.French: "film série cinéma télé acteur jeu jeux",
		text.Spanish: "película serie cine televisión actor juego videojuego", text.Chinese: "电影 电视剧 演员 游戏 节目 动漫",
	}},
	{"books", map[text.Language]string{
		text.English: "book novel read reading author library story writer write writing chapter poem publish literature journal blog screenplay script", text.German: "buch roman lesen autor bibliothek geschichte schreiben", text.French: "livre roman lire auteur bibliothèque histoire écrire",
		text.Spanish: "libro novela leer autor biblioteca historia escribir", text.Chinese: "书 小说 阅读 作者 图书馆 写作 看书",
	}},
	{"technology", map[text.Language]string{
		text.English: "technology computer phone software app code coding programming program internet website robot data server algorithm database laptop device online api bug deploy network model machine engineer engineering python cloud password printer battery quantum",
		text.German:  "technik computer handy software programmieren internet daten server rechner gerät", text.French: "technologie ordinateur téléphone logiciel programmer internet données serveur application",
		text.Spanish: "tecnología ordenador computadora teléfono software programar internet datos servidor aplicación", text.Chinese: "技术 电脑 手机 软件 程序 编程 互联网 数据 服务器 代码 人工智能",
	}},
	{"science", map[text.Language]string{
		text.English: "science scientist physics chemistry biology experiment theory research laboratory space planet telescope brain neuroscience psychology climate energy cell gene evolution attention cognitive annealing mathematics statistics molecule astronomy",
		text.German:  "wissenschaft physik chemie biologie experiment forschung gehirn psychologie", text.French: "science physique chimie biologie expérience recherche cerveau psychologie",
		text.Spanish: "ciencia física química biología experimento investigación cerebro psicología", text.Chinese: "科学 物理 化学 生物 实验 研究 心理学",
	}},
	{"finance", map[text.Language]string{
		text.English: "money bank budget loan tax investment invest stock save savings price cost pay payment expensive cheap bill rent mortgage insurance debt fund fundraising donation sale discount", text.German: "geld bank budget kredit steuer sparen preis miete rechnung versicherung", text.French: "argent banque budget prêt impôt épargne prix loyer facture assurance",
		text.Spanish: "dinero banco presupuesto préstamo impuesto ahorro precio alquiler factura seguro", text.Chinese: "钱 银行 预算 贷款 税 投资 股票 价格 房租",
	}},
	{"home", map[text.Language]string{
		text.English: "home house apartment kitchen room bedroom furniture clean cleaning repair renovation move moving rent neighborhood sofa laundry lamp roof paint basement balcony", text.German: "haus wohnung zimmer möbel küche umzug putzen", text.French: "maison appartement chambre meuble déménagement ménage",
		text.Spanish: "casa apartamento piso habitación mueble mudanza limpieza", text.Chinese: "家里 房子 公寓 房间 家具 搬家 打扫",
	}},
	{"shopping", map[text.Language]string{
		text.English: "buy bought shopping store mall purchase order gift present clothes shoes dress jacket market delivery", text.German: "kaufen einkaufen geschäft geschenk kleidung schuhe markt", text.French: "acheter magasin cadeau vêtement chaussures marché",
		text.Spanish: "comprar tienda regalo ropa zapatos mercado", text.Chinese: "买 购物 商店 礼物 衣服 鞋子 超市",
	}},
	{"community", map[text.Language]string{
		text.English: "community volunteer volunteering charity support group lgbtq rights equality church neighborhood campaign protest awareness homeless donate activism pride inclusion veteran shelter election politics law", text.German: "gemeinschaft ehrenamt spende verein kirche politik", text.French: "communauté bénévole association charité église politique",
		text.Spanish: "comunidad voluntario caridad iglesia política asociación", text.Chinese: "社区 志愿者 慈善 教会 政治",
	}},
	{"celebration", map[text.Language]string{
		text.English: "birthday party celebrate celebration anniversary christmas wedding holiday festival graduation invitation surprise thanksgiving", text.German: "geburtstag feier feiern weihnachten hochzeit jubiläum", text.French: "anniversaire fête fêter noël mariage",
		text.Spanish: "cumpleaños fiesta celebrar navidad boda aniversario", text.Chinese: "生日 聚会 庆祝 圣诞 春节 婚礼",
	}},
	{"transport", map[text.Language]string{
		text.English: "car drive driving bus train subway bicycle motorcycle traffic parking license mechanic engine tire truck fuel commute", text.German: "auto fahren bus zug verkehr motor", text.French: "voiture conduire bus métro circulation moteur",
		text.Spanish: "coche carro conducir autobús metro tráfico motor", text.Chinese: "汽车 开车 公交 地铁 堵车 自行车",
	}},
}

// lexicon finds the domains of a text.
type lexicon struct {
	stems map[text.Language]map[string][]int // indexes in topicWords
	han   map[string][]int
}

// topicLexicon is read when it is first asked for.
var topicLexicon = sync.OnceValue(newLexicon)

func newLexicon() *lexicon {
	l := &lexicon{stems: map[text.Language]map[string][]int{}, han: map[string][]int{}}
	for i, t := range topicWords {
		for lang, words := range t.words {
			for w := range strings.FieldsSeq(words) {
				if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Han, r) {
					l.han[w] = append(l.han[w], i)
					continue
				}
				if l.stems[lang] == nil {
					l.stems[lang] = map[string][]int{}
				}
				stem := text.Stem(text.Fold(w), lang)
				if !slices.Contains(l.stems[lang][stem], i) {
					l.stems[lang][stem] = append(l.stems[lang][stem], i)
				}
			}
		}
	}
	return l
}

// topTopics returns the n domains with the most words in s, ordered by count and then by first
// appearance. A word that lang does not have is looked up in English, since the language of a
// short text is often guessed wrong.
func (l *lexicon) topTopics(s string, lang text.Language, n int) []string {
	type hit struct{ topic, count, first int }
	hits := map[int]*hit{}
	add := func(topics []int, at int) {
		for _, t := range topics {
			h := hits[t]
			if h == nil {
				h = &hit{topic: t, first: at}
				hits[t] = h
			}
			h.count++
			h.first = min(h.first, at)
		}
	}
	var verbs map[string]bool
	if lang == text.English {
		verbs = verbsOf(s)
	}
	for at, w := range text.Words(s) {
		if verbs[w] {
			continue
		}
		topics := l.stems[lang][text.Stem(w, lang)]
		if other, ok := otherSenses[w]; ok {
			topics = slices.DeleteFunc(slices.Clone(topics), func(t int) bool { return topicWords[t].topic == other })
		}
		if topics == nil && lang != text.English && !text.IsStopWord(w, lang) {
			topics = l.stems[text.English][text.Stem(w, text.English)]
		}
		add(topics, at)
	}
	if lang == text.Chinese || lang == text.Japanese {
		inText := map[string]bool{}
		for _, w := range grammar.Chinese(clip.Head(s, maxTagged)) {
			inText[w.Text] = true
		}
		for w, topics := range l.han {
			// One character counts only as a word: "花生" is no flower.
			if at := strings.Index(s, w); at >= 0 && (inText[w] || utf8.RuneCountInString(w) > 1) {
				add(topics, at)
			}
		}
	}
	all := make([]hit, 0, len(hits))
	for _, h := range hits {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.first, b.first), cmp.Compare(a.topic, b.topic))
	})
	out := make([]string, 0, min(n, len(all)))
	for _, h := range all[:min(n, len(all))] {
		out = append(out, topicWords[h.topic].topic)
	}
	return out
}
