package eval

import _ "embed"

//go:embed sample/conversation.json
var sampleTalk []byte

//go:embed sample/chat.json
var sampleChat []byte

// Sample returns the bundled conversation of two friends. We wrote it, in LoCoMo's format.
func Sample() (Conversation, error) {
	cs, err := decodeLoCoMo(sampleTalk, nil)
	if err != nil {
		return Conversation{}, err
	}
	return cs[0], nil
}

// SampleTalk returns the bundled conversation between people as a data set.
func SampleTalk() (*Dataset, error) {
	d := newLoCoMo("sample-talk")
	d.recordHash("conversation.json", sampleTalk)
	var err error
	d.Conversations, err = decodeLoCoMo(sampleTalk, nil)
	return d, err
}

// SampleChat returns the bundled conversation with an assistant as a data set. We wrote it, in
// BEAM's format.
func SampleChat() (*Dataset, error) {
	d := newBEAM("sample-chat")
	d.recordHash("chat.json", sampleChat)
	var err error
	d.Conversations, err = decodeBEAM(sampleChat)
	return d, err
}
