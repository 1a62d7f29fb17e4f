package main

import (
	"math/rand/v2"
	"strings"
)

// The parts of notes. They are grouped by themes, so that the vectors form clusters like those of a
// real collection.
var (
	people = strings.Fields("Amina Bruno Carla Dmitri Elif Fatou Goran Hanna Ivo Jun Kofi Lena Mateo Noor Olga Pedro Quynh Rasmus Sanna Tariq Ulla Viktor Wanda Ximena Yara Zoran")
	kin    = []string{
		"my sister", "my landlord", "our accountant", "the new trainee", "my grandfather", "the neighbour upstairs", "our team lead", "the doctor",
		"my cousin", "the choir", "a colleague", "the owner of the shop", "my daughter", "the inspector",
	}
	deeds = strings.Fields("repaired sold painted lost found ordered returned photographed measured cleaned borrowed wrapped designed tested compared described insured planned rented praised" +
		" explained replaced cancelled finished started recommended forgot bought researched improved")
	kinds  = strings.Fields("old new red cheap broken heavy rare noisy second-hand wooden digital tiny expensive unusual half-finished favourite spare blue borrowed famous")
	themes = [][]string{
		{"tomato plants", "rose bush", "compost heap", "garden fence", "greenhouse", "watering can", "apple tree", "beehive"},
		{"violin", "accordion", "drum kit", "microphone", "concert ticket", "record player", "choir score", "guitar amplifier"},
		{"bicycle", "tram pass", "motorbike", "delivery van", "snow tyres", "roof rack", "train ticket", "kayak"},
		{"database migration", "build server", "release notes", "login page", "search index", "backup script", "error report", "test suite"},
		{"tax forms", "mortgage offer", "insurance claim", "household budget", "savings account", "invoice", "pension letter", "bank card"},
		{"sourdough starter", "pressure cooker", "lentil soup", "birthday cake", "espresso machine", "olive oil", "bread knife", "plum jam"},
		{"marathon plan", "yoga mat", "climbing rope", "football boots", "swimming lesson", "chess club", "tennis racket", "hiking trail"},
		{"blood test", "dentist appointment", "knee brace", "allergy tablets", "hearing aid", "sleep diary", "vaccination card", "reading glasses"},
		{"cat carrier", "puppy", "aquarium", "parrot cage", "horse stable", "hamster wheel", "dog leash", "bird feeder"},
		{"history novel", "poetry anthology", "school essay", "thesis chapter", "Spanish course", "library card", "crossword", "travel guide"},
		{"wedding speech", "farewell party", "baby photos", "family reunion", "anniversary gift", "Christmas lights", "invitation list", "holiday cottage"},
		{"kitchen tiles", "water heater", "attic window", "sofa bed", "curtain rail", "washing machine", "smoke alarm", "front door lock"},
	}
	places = []string{
		"in the cellar", "near the harbour", "at the flea market", "behind the station", "on the island", "in Lisbon", "at the village hall", "by the canal",
		"in the attic", "on the third floor", "in the mountains", "at the hospital", "beside the mill", "in the office", "at school", "in Toronto", "on the train",
		"at the airport", "in Kyoto", "at home",
	}
	times = []string{
		"yesterday", "last spring", "after work", "this morning", "before breakfast", "on Monday", "in March", "two weeks ago", "over the weekend", "at midnight",
		"during the holidays", "last year", "on her birthday", "just before closing time",
	}
	reasons = []string{
		"because the shop was about to close", "although it rained all day", "and it took the whole afternoon", "which surprised everybody", "for almost nothing",
		"without any help", "in spite of the noise", "as we had agreed", "to be on the safe side", "and would gladly do it again", "which cost forty euros",
		"because the deadline is near", "and nobody noticed", "after a long argument", "since the old one had failed", "to save some money",
	}
)

// writer generates texts. Equal numbers generate equal texts.
type writer struct{ *rand.Rand }

// The random streams of notes and queries.
const (
	noteStream  = 1 << 40
	queryStream = 2 << 40
	mixStream   = 3 << 40
)

func newWriter(stream uint64, i int) writer {
	return writer{rand.New(rand.NewPCG(seed, stream+uint64(i)))} //nolint:gosec // not a secret; the text must be reproducible
}

// seed is fixed, so that runs are reproducible.
const seed = 20

func (w writer) pick(list []string) string { return list[w.IntN(len(list))] }

func (w writer) who() string {
	if w.IntN(2) == 0 {
		return w.pick(people)
	}
	return w.pick(kin)
}

func (w writer) thing() string { return w.pick(themes[w.IntN(len(themes))]) }

// note returns a note of 8 to 30 words about one thing.
func (w writer) note() string {
	who, deed, thing := w.who(), w.pick(deeds), w.pick(kinds)+" "+w.thing()
	var parts []string
	switch w.IntN(4) {
	case 0:
		parts = []string{who, deed, "the", thing, w.pick(places), w.pick(times)}
	case 1:
		parts = []string{w.pick(times), who, "and", w.who(), deed, "the", thing, w.pick(places), w.pick(reasons)}
	case 2:
		parts = []string{who, "told", w.who(), "that the", thing, "was", deed, w.pick(times), w.pick(reasons)}
	default:
		parts = []string{"the", thing, "that", who, deed, w.pick(places), "reminds", w.who(), "of the", w.pick(kinds), w.thing(), w.pick(places)}
	}
	return sentence(parts, ".")
}

// query returns a question about something a note may contain.
func (w writer) query() string {
	var parts []string
	switch w.IntN(4) {
	case 0:
		parts = []string{"who", w.pick(deeds), "the", w.pick(kinds), w.thing(), w.pick(places)}
	case 1:
		parts = []string{"when did", w.who(), "talk about the", w.thing()}
	case 2:
		parts = []string{"what happened to the", w.pick(kinds), w.thing(), "of", w.who()}
	default:
		parts = []string{"where is the", w.thing(), "that", w.who(), w.pick(deeds), w.pick(times)}
	}
	return sentence(parts, "?")
}

func sentence(parts []string, end string) string {
	s := strings.Join(parts, " ") + end
	return strings.ToUpper(s[:1]) + s[1:]
}
