package text

import "strings"

// irregular maps English forms that no stemmer can reduce to a base form that it can: past tenses,
// participles and plurals, and the few regular ones where Porter's rules separate a short word from
// its own forms ("tried", "flies"). Forms that are equally often another word are left out ("left",
// "lives", "ground"). A mistake costs little: two words share a term.
var irregular = func() map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(irregularForms, "\n") {
		base, forms, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for form := range strings.FieldsSeq(forms) {
			m[form] = base
		}
	}
	return m
}()

const irregularForms = `arise: arose arisen
	become: became
	begin: began begun
	bend: bent
	bite: bit bitten
	bleed: bled
	blow: blew blown
	break: broke broken
	breed: bred
	bring: brought
	build: built
	burn: burnt
	buy: bought
	catch: caught
	choose: chose chosen
	come: came
	creep: crept
	cry: cried cries
	deal: dealt
	die: died dies dying
	dig: dug
	draw: drew drawn
	dream: dreamt
	drink: drank drunk
	drive: drove driven
	dry: dried dries
	eat: ate eaten
	fall: fell fallen
	feed: fed
	feel: felt
	fight: fought
	find: found
	fly: flew flown flies
	forget: forgot forgotten
	forgive: forgave forgiven
	freeze: froze frozen
	get: got gotten
	give: gave given
	go: went gone goes
	grow: grew grown
	hang: hung
	hear: heard
	hide: hid hidden
	hold: held
	keep: kept
	kneel: knelt
	know: knew known
	lay: laid
	lead: led
	leap: leapt
	learn: learnt
	lend: lent
	lie: lied lies lying
	lose: lost
	make: made
	mean: meant
	meet: met
	overcome: overcame
	pay: paid
	ride: rode ridden
	ring: rang rung
	rise: rose risen
	run: ran
	say: said
	see: saw seen
	seek: sought
	sell: sold
	send: sent
	sew: sewn
	shake: shook shaken
	shine: shone
	shoot: shot
	show: shown
	shrink: shrank shrunk
	sing: sang sung
	sink: sank sunk
	sit: sat
	sleep: slept
	slide: slid
	speak: spoke spoken
	spend: spent
	spill: spilt
	spin: spun
	spy: spied spies
	stand: stood
	steal: stole stolen
	stick: stuck
	strike: struck
	swear: swore sworn
	sweep: swept
	swim: swam swum
	take: took taken
	teach: taught
	tear: tore torn
	tell: told
	think: thought
	throw: threw thrown
	tie: tied ties tying
	try: tried tries
	understand: understood
	wake: woke woken
	wear: wore worn
	weave: wove woven
	weep: wept
	win: won
	withdraw: withdrew withdrawn
	write: wrote written
	child: children
	foot: feet
	goose: geese
	knife: knives
	loaf: loaves
	man: men
	mouse: mice
	ox: oxen
	person: people
	scarf: scarves
	shelf: shelves
	sky: skies
	thief: thieves
	tooth: teeth
	wife: wives
	wolf: wolves
	woman: women`
