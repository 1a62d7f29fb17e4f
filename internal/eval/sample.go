package eval

import _ "embed"

//go:embed sample/conversation.json
var sampleTalk []byte

//go:embed sample/chat.json
var sampleChat []byte

// Sample gives the conversation of two friends that ships with slipbox, of our own
// writing, in LoCoMo's shape.
func Sample() (Conversation, error) {
	cs, err := decodeLoCoMo(sampleTalk, nil)
	if err != nil {
		return Conversation{}, err
	}
	return cs[0], nil
}

// SampleTalk gives the bundled conversations between people as a data set.
func SampleTalk() (*Dataset, error) {
	d := newLoCoMo("sample-talk")
	d.note("conversation.json", sampleTalk)
	var err error
	d.Conversations, err = decodeLoCoMo(sampleTalk, nil)
	return d, err
}

// SampleChat gives the bundled conversation with an assistant as a data set, of our own
// writing, in BEAM's shape.
func SampleChat() (*Dataset, error) {
	d := newBEAM("sample-chat")
	d.note("chat.json", sampleChat)
	var err error
	d.Conversations, err = decodeBEAM(sampleChat)
	return d, err
}
