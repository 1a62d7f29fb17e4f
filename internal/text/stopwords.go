package text

import "strings"

// wordSet returns the set of the words in space-separated lists.
func wordSet(lists ...string) map[string]bool {
	m := map[string]bool{}
	for _, l := range lists {
		for w := range strings.FieldsSeq(l) {
			m[w] = true
		}
	}
	return m
}

// stopWords are the function words of each language, folded as [Fold] does. The lists hold no
// content words: a word that names a thing is never here.
var stopWords = map[Language]map[string]bool{
	English: wordSet(`a an the and or but if then so of in on at to from for with by about as into over after before is are was
		were be been being am do does did done doing have has had having i me my mine we us our ours you your yours he him his
		she her hers it its they them their theirs this that these those there here what which who whom whose when where why how
		not no nor can could will would shall should may might must just very too also than s t d ll m re ve`),
	German: wordSet(`aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch auf aus bei bin bis
		bist da damit dann das dass daß dein deine deinem deinen deiner dem den denn der des dessen deshalb dich die dies diese
		diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwas euch euer eure für
		gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins
		ist ja jede jedem jeden jeder jedes jene jetzt kann kannst kein keine keinem keinen keiner können könnte mal man manche
		mein meine meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine
		seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst um und uns unser unsere unter vom von vor war
		waren warst was weil weiter welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieder will wir wird
		wirst wo wohl wollen wollte worden wurde wurden würde würden während zu zum zur zwar zwischen über`),
	French: wordSet(`à ai aient ainsi alors après as au aucun aussi autre aux avaient avais avait avant avec avez avoir avons c ça car
		ce cela celle celui ces cet cette ceux chez comme d dans de depuis des donc dont du elle elles en entre es est et étaient
		étais était été être eu eux fait font il ils j je jusqu l la le les leur leurs lui là m ma mais me mes moi mon même n ne ni
		non nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu quand que quel quelle quels qui quoi
		s sa sans se sera ses si son sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre
		vous y`),
	Spanish: wordSet(`a al algo algunas algunos ante antes aquel aquella así aunque cada como con contra cual cuando cuál cuándo cómo de
		del desde donde dos dónde durante e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está estaba
		estado están estar estas este esto estos estoy fue fueron fui ha había habían han has hasta hay he la las le les lo los más
		me mi mí mientras mis mucho muy nada ni no nos nosotros nuestra nuestro o otra otro para pero poco por porque pues que qué
		quien quién se sea según ser si sí sido sin sobre solo son soy su sus también tan tanto te tenía tengo ti tiene tienen todo
		todos tu tú tus un una uno unos usted y ya yo`),
	Italian: wordSet(`a abbia abbiamo agli ai al alla alle allo anche ancora avere aveva avevano c che chi ci cioè come con contro cosa
		cui d da dagli dai dal dalla dalle dallo degli dei del della delle dello dentro di dove e è ed era erano essere fa fra gli
		ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei nel nella nelle nello
		noi non nostra nostro o ogni per perché perchè più poi prima può qual quale quali quando quanto quella quelle quelli
		quello questa queste questi questo qui s sarà se sei si sia siamo sono sta stata stato su sua sue sugli sui sul sulla suo
		suoi ti tra tu tua tuo tutti tutto un una uno v vi voi`),
	Portuguese: wordSet(`a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e é ela elas ele
		eles em entre era eram essa esse esta está estava estavam estas este estes estou eu foi foram há isso isto já lhe mais mas
		me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num numa o os ou para pela pelas pelo pelos por
		porque qual quando que quem são se seja sem ser será seu seus sido sim só sobre sua suas também te tem têm tenho ter teu
		tinha tua tudo um uma umas uns você vocês`),
	Dutch: wordSet(`aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen
		geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou jouw kan kon kunnen maar me
		meer men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw van
		veel voor waar waren was wat we wel werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou`),
	Swedish: wordSet(`alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt du där då
		efter ej eller en er era ert ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inom inte jag ju
		kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på samma sedan sig sin sina
		sitt sjuk ska skulle som så sådan till under upp ut utan vad var vara varför varit varje vars vem vi vid vilka vilken vår
		våra vårt än är åt över`),
	Norwegian: wordSet(`alle at av bare begge ble blei bli blir blitt både da de deg dei deim deira dem den denne der dere deres det
		dette di din disse ditt du eg ein eit eller elles en enn er et ett etter for fordi fra få før ha hadde han hans har henne
		hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor i ikke ikkje inn ja jeg kan kom kun kunne man mange me med
		meg men mi min mine mitt mot mye når noe noen nå og også om opp oss over på så sånn seg selv si sia siden sin sine sitt
		skal skulle slik som til um upp ut uten var vart ved vere vi vil ville vore være vært å`),
	Danish: wordSet(`ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine disse dog du efter
		eller en end er et for fordi fra få ham han hans har havde have hende hendes her hos hun hvad hvem hvis hvor hvordan hvorfor
		i ikke ind jeg jer jo kan kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og også om op os over på
		selv sig sin sine sit skal skulle som så sådan thi til ud under var vi vil ville vor være været`),
	Finnish: wordSet(`aina ehkä ei eivät emme en enemmän ennen ensin entä ette ettei että he heidän heille heitä hän häneen hänelle hänellä
		hänen hänestä hänet häntä ihan itse ja jo johon joiden joita joka jokin jolla jolle jonka joo jos joskus jossa josta
		jota jotain jotka jotta kai kaikki kanssa keiden ketkä ketä koska koskaan kuin kuinka kuka kun kuten kyllä me meidän
		meille meillä meitä mihin miksi mikä millainen milloin minkä minua minulla minulle minun minusta minut minuun minä
		missä mistä mitä mitään mukaan muta mutta myös ne neiltä niiden niin niitä noin nuo nyt näin nämä ole olemme olen olet
		olette oli olimme olin olisi olisin olit olivat olla olleet ollut on ovat paitsi saakka se sekä sen siellä siinä siis
		siitä sille sillä sinua sinulla sinulle sinun sinut sinä sitten sitä tai te teidän teille teitä tuo tuon tuota tällä
		tämä tämän tässä tästä tätä vaan vai vaikka vain vielä voi voin voit voivat yli`),
	Hungarian: wordSet(`a abban ahhoz ahogy ahol aki akik akit akkor alatt amely amelyek ami amikor amit amíg annak arra az azok azon azonban
		azt aztán azzal azért be bele belőle benne csak de e egy egyik együtt el ellen elég elő előtt engem enyém ez ezek ezen
		ezt ezzel ezért fel fog ha hanem hogy hogyan hol honnan hova ide igen is itt ki kicsit kik kit kívül lehet lesz lett
		ma maga majd meg mellett mely mert mi miatt mikor milyen mind minden mindig mint mintha mit mivel most már még nagyon
		ne neked nekem neki nekik nekünk nem nincs oda olyan ott pedig rajta rá s saját sem semmi senki sok sokkal során
		szemben szerint számára te ti tovább téged több túl után utána vagy vagyok vagyunk valaki valami van vannak vele veled
		velem volna volt voltak voltam voltunk által át én és így össze úgy ő ők őket`),
	Romanian: wordSet(`a acea aceasta această acel acela acele acest acesta aceste acestea acolo acum ai aici al ale am ar are as asta astfel
		atunci au avea aveam avem aveți având aș ați ca care ce cea cei cel cele ceva chiar cine cineva cu cui cum cumva când
		cât câte câți că cărei căror da dacă dar de deci deja deoarece despre din dintr dintre doar dumneavoastră după ea ei
		el ele era eram erau este eu ești fi fie fiind foarte fost fără i la le li lor lui mai mea mei mele meu mi mie mine
		mult multe mulți mă ne nici niște noastre noastră noi nostru noștri nu o or ori oricare pe pentru peste prin printr sa
		sale sau se sub sunt suntem sunteți sînt să săi ta tale te tine toate toată tot totul toți tu tău un una unde unei
		unele uneori unii unor unui unul va voastră voi vom vor vostru vreo vă îi îl îmi în înainte încă într întra între își
		îți și`),
	Turkish: wordSet(`acaba ama ancak artık aslında az bana bazı belki ben bende benden beni benim bile bir biraz biri birkaç birçok biz
		bizde bizden bizi bizim bu buna bunda bundan bunlar bunları bunların bunu bunun burada böyle da daha de değil diye
		dolayı en eğer fakat gibi göre hangi hani hatta hem hep hepsi her hiç hâlâ idi ile ise için içinde işte kadar kendi
		kendine kendini ki kim kime kimi kimse mi miydi mu mü mı mıydı nasıl ne neden nerede nereye niye niçin o olan olarak
		oldu oldum olduğu olsa olur ona ondan onlar onlardan onları onların onu onun orada oysa pek rağmen sadece sana sanki
		sen senden seni senin siz sizden sizi sizin sonra tüm var vardı ve veya ya yani yine yok yoktu zaten çok çünkü öyle
		üzere şey şimdi şu şuna şunu`),
	Russian: wordSet(`а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот впрочем все всегда всего
		всех всю вы где да даже два для до другой его ее ей ему если есть еще ещё ж же за зачем здесь и из или им иногда их к как
		какая какой когда конечно кто куда ли лучше между меня мне много может можно мой моя мы на над надо наконец нас не него нее
		ней нельзя нет ни нибудь никогда ним них ничего но ну о об один он она они опять от перед по под после потом потому почти
		при про раз разве с сам свою себе себя сейчас со совсем так такой там тебя тем теперь то тогда того тоже только том тот
		три тут ты у уж уже хорошо хоть чего чей чем через что чтоб чтобы чуть эти это этого этой этом этот эту я`),
	Chinese: wordSet(`的 了 着 过 是 在 有 和 与 及 或 也 都 就 还 又 而 但 不 没 很 太 最 更 我 你 您 他 她 它 们 这 那 哪 什 么 谁 吗 呢 吧 啊 呀 嘛 把 被 给
		让 对 从 到 向 为 以 于 之 其 所 如 若 因 则 且 并 个 些 会 能 要 想 说 去 来 上 下 里 我们 你们 他们 她们 这个 那个 什么 怎么 因为 所以
		但是 如果 没有 可以 就是 还是 一个 这样 那样 自己`),
	Japanese: wordSet(`の に は を が と で て も へ や か ら し た な だ よ ね う い こと もの これ それ あれ この その あの ここ そこ から まで など です ます
		でした ました する した して いる ある なる ない よう さん という ため`),
	Korean: wordSet(`이 그 저 것 수 등 및 을 를 은 는 가 에 의 와 과 도 로 으로 에서 하다 있다 없다 되다 그리고 그러나 하지만 그런데 나는 너는 우리 저는`),
}

// IsStopWord reports whether the word, in any letter case, is a function word of the language. An
// unknown language has none.
func IsStopWord(word string, lang Language) bool {
	return stopWords[lang][Fold(word)]
}
