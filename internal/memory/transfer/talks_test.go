package transfer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// folder writes files, which are names and contents in turn, into a folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "export")
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(at, filepath.FromSlash(files[i]))
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Do(t, os.WriteFile(name, []byte(files[i+1]), 0o600))
		must.Do(t, os.Chtimes(name, now, now))
	}
	return at
}

// A talk in any text layout becomes messages with their speakers; it is never read as one long note.
func TestTalks(t *testing.T) {
	t.Parallel()
	const end = "\n"
	for name, text := range map[string]string{
		"names.txt":    "Nora: I fire on Friday.\nwith tea\nIda: Which glaze?\nNora: Celadon." + end,
		"bold.md":      "**Nora:** I fire on Friday.\nwith tea\n\n**Ida:** Which glaze?\n\n**Nora:** Celadon." + end,
		"clock.txt":    "[10:00] Nora: I fire on Friday.\nwith tea\n[10:01] Ida: Which glaze?\n[10:02] Nora: Celadon." + end,
		"after.txt":    "Nora (00:01): I fire on Friday.\nwith tea\nIda (00:05): Which glaze?\nNora (1:00:09): Celadon." + end,
		"wide.txt":     "Nora：I fire on Friday。\nwith tea\nIda：Which glaze？\nNora：Celadon。" + end,
		"irc.txt":      "[10:00] <Nora> I fire on Friday\nwith tea\n[10:01] <Ida> Which glaze\n[10:02] <@Nora> Celadon" + end,
		"headed.txt":   "Nora  0:01\nI fire on Friday.\nwith tea\n\nIda  0:05\nWhich glaze?\n\nNora  0:09\nCeladon." + end,
		"captions.srt": "1\n00:00:01,000 --> 00:00:04,000\nNora: I fire on Friday.\nwith tea\n\n2\n00:00:05,000 --> 00:00:08,000\nIda: Which glaze?\n\n3\n00:00:09,000 --> 00:00:10,000\nNora: Celadon." + end,
		"+4915.txt": "Mar 01, 2026 10:00:00 AM\nNora\nI fire on Friday.\nwith tea\n\nMar 01, 2026  1:01:00 PM (Read by you after 20 seconds)\nIda\nWhich glaze?\n" +
			"Tapbacks:\nLoved by Nora\n\nMar 02, 2026 10:00:00 AM\nNora\nCeladon." + end,
	} {
		for _, source := range []string{put(t, name, []byte(text)), folder(t, "talks/"+name, text)} {
			if filepath.Ext(name) == ".srt" && filepath.Base(source) == "export" {
				continue // a folder has them beside what they are captions of
			}
			out, r, err := translate(t, source, Options{})
			if err != nil || r.Messages != 3 || r.Notes != 0 || len(r.People) != 2 || r.People[0] != (Person{"Nora", 2}) ||
				!strings.Contains(out, "with tea") || strings.Contains(out, "Loved") {
				t.Errorf("%s: %v\n%s%+v", source, err, out, r)
			}
		}
	}
	const tagged = "WEBVTT\n\nx-0\n00:00:01.000 --> 00:00:04.000\n<v Berg, Nora>I fire.</v>\n\nx-1\n00:00:05.000 --> 00:00:08.000\n<v Ida>Which glaze?</v>\n"
	if out, r, err := translate(t, put(t, "meeting.vtt", []byte(tagged)), Options{}); err != nil || len(r.People) != 2 || r.People[0].Name != "Berg, Nora" {
		t.Errorf("tags: %v\n%s%+v", err, out, r)
	}
	const titled = "Mar 1, 2026\nWeekly kiln - Transcript\n00:00:00\n \nNora Berg: I fire on Friday.\nIda: Which glaze?\n\n00:05:00\nNora Berg: Celadon.\nIda: Fine.\n"
	if out, r, err := translate(t, put(t, "meeting.txt", []byte(titled)), Options{}); err != nil || r.Messages != 4 || r.Notes != 1 || strings.Contains(out, "00:05") {
		t.Errorf("a title: %v\n%s%+v", err, out, r)
	}
	out, r, err := translate(t, put(t, "chat.txt", []byte("User: When do I fire?\nAssistant: On Friday.")), Options{})
	if err != nil || strings.Count(out, `"role":"user"`) != 1 || strings.Count(out, `"role":"assistant"`) != 1 || len(r.Doubts) != 1 {
		t.Errorf("roles: %v\n%s%+v", err, out, r)
	}
}

// A text that is not a talk stays a text with any beginnings of its lines.
func TestTextsAreNotTalks(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"recipe.txt":  "Name: Celadon\nCone: 10\nFeldspar: 40\nSilica: 30\n",
		"records.txt": "Name: Celadon\nCone: 10\n\nName: Shino\nCone: 10\n\nName: Tenmoku\nCone: 10\n",
		"letter.md":   "Dear Ida,\n\nNote: the kiln is hot.\n\nNote: come on Friday.\nNora: yes.\n",
		"faq.md":      "# FAQ\n\nQ: When?\nA: On Friday.\n\nQ: Which glaze?\nA: Celadon.\n",
		"asked.txt":   "Q: When?\nA: On Friday.\nQ: Which glaze?\nA: Celadon.\n",
		"article.md":  "# The kiln\n\nIt is hot today, and it cools.\n\nNora: I fire.\n\nSo she said, and then she went.\n\nIda: No!\n\nSo they parted, for a day.\n\nNora: Yes.\n\nAnd so on it went.\n\nIda: No.\n",
		"head.md":     "---\ntags: clay\n---\nNora: yes.\nIda: no.\nNora: why?\n",
		"page.md":     "<p> The kiln</p>\n<div> is hot</div>\n",
		"plain.txt":   "The kiln is hot: take care.\nIt cools on Friday: come then.\n",
		"from.txt":    "From Monday on the kiln is hot.\n",
	} {
		if out, r, err := translate(t, put(t, name, []byte(text)), Options{}); err != nil || r.Format != "markdown" || r.Messages != 0 {
			t.Errorf("%s: %v\n%s%+v", name, err, out, r)
		}
	}
}

// Several chats of WhatsApp come in with one import, each with its people and days; how one of them writes its dates shows it for all.
func TestSeveralChats(t *testing.T) {
	t.Parallel()
	one, other := "13/3/26, 09:00 - Nora: Hi\n14/3/26, 09:00 - Ida: Hello\n", "2/3/26, 09:00 - Tom: Hi\n"
	for _, source := range []string{
		folder(t, "WhatsApp Chat with Ida.txt", one, "WhatsApp Chat with Tom.txt", other, "IMG-1.jpg", "x"),
		packed(t, "WhatsApp Chat with Ida.txt", one, "WhatsApp Chat with Tom.txt", other, "IMG-1.jpg", "x"),
	} {
		out, r, err := translate(t, source, Options{})
		if err != nil || r.Format != "whatsapp" || r.Messages != 3 || r.Sessions != 3 || r.From != "2026-03-02T09:00:00Z" ||
			!strings.Contains(out, `"session":"WhatsApp Chat with Tom 2026-03-02"`) {
			t.Errorf("%s: %v\n%s%+v", source, err, out, r)
		}
	}
	for _, source := range []string{
		folder(t, "_chat.txt", one, "notes.txt", "What Ida sent.\n", "more.md", "# More\n"),
		packed(t, "_chat.txt", one, "00001-notes.txt", "What Ida sent.\n", "00002-more.txt", "More.\n"),
		folder(t, "Ida/chat.md", "[2026-03-13 09:00] Me: Hi\n[2026-03-14 09:00] Ida: Hello\n", "Ida/data.json", "{}"),
	} {
		if out, r, err := translate(t, source, Options{}); err != nil || r.Format != "whatsapp" || r.Messages != 2 {
			t.Errorf("%s: %v\n%s%+v", source, err, out, r)
		}
	}
	vault := folder(t, "a.md", "# A\n\nClay.\n", "b.md", "# B\n\nGlaze.\n", "talk.txt", one)
	out, r, err := translate(t, vault, Options{})
	if err != nil || r.Format != "markdown" || r.Notes != 2 || strings.Contains(out, "Hello") || len(r.Left) != 1 {
		t.Errorf("a chat among notes: %v\n%s%+v", err, out, r)
	}
	for _, text := range []string{
		"09:15, 01/11/2025 - Nora: Lò bị hỏng\n21:07, 14/11/2025 - Ida: Thứ sáu\n", "[9:15:03 SA, 1/11/2025] Nora: Lò bị hỏng\n[9:07:00 CH, 14/11/2025] Ida: Thứ sáu\n",
	} {
		out, r, err := translate(t, put(t, "vi.txt", []byte(text)), Options{})
		if err != nil || r.Messages != 2 || r.From[:13] != "2025-11-01T09" || r.To[:13] != "2025-11-14T21" {
			t.Errorf("the time first: %v\n%s%+v", err, out, r)
		}
	}
	edited := "1/3/25, 09:00 - Nora: One <This message was edited>\n1/14/25, 09:00 - Ida: Two <This message was edited>\n1/15/25, 09:00 - Ida: say <name>\n"
	out, _, err = translate(t, put(t, "chat.txt", []byte(edited)), Options{})
	if err != nil || strings.Contains(out, "edited") || !strings.Contains(out, `say \u003cname\u003e`) {
		t.Errorf("edited: %v\n%s", err, out)
	}
}

// Notion wraps its zips in a zip, and links its pages as Markdown does.
func TestZipsInAZip(t *testing.T) {
	t.Parallel()
	inner := string(must.Get(os.ReadFile(packed(t,
		"Pottery 1f2e.md", "# Pottery\n\n[Glazes](Pottery%201f2e/Glazes%202f2e.md) [web](https://example.com/a.md)\n",
		"Pottery 1f2e/Glazes 2f2e.md", "# Glazes\n\nBack to [it](../Pottery%201f2e.md#top) or [it](<../Pottery 1f2e.md>).\n")))(t))
	out, r, err := translate(t, packed(t, "ExportBlock-1-Part-1.zip", inner), Options{})
	if err != nil || r.Notes != 2 || strings.Count(out, `"links":[`) != 2 {
		t.Errorf("%v\n%s%+v", err, out, r)
	}
	for name, bad := range map[string]string{"damaged": "PK\x03\x04 no zip", "a zip in a zip in a zip": string(must.Get(os.ReadFile(packed(t, "a.zip", inner)))(t))} {
		if out, _, err := translate(t, packed(t, "b.zip", bad), Options{}); err == nil {
			t.Errorf("%s is read: %s", name, out)
		}
	}
}

// What Claude has written down about a person comes in with the conversations.
func TestMemoriesOfClaude(t *testing.T) {
	t.Parallel()
	const chats = `[{"uuid":"c1","name":"Glazes","created_at":"2026-03-01T10:00:00Z","chat_messages":[{"uuid":"m1","text":"I fire.","sender":"human","created_at":"2026-03-01T10:00:00Z"}]}]`
	const known = `[{"conversations_memory":"# Work\n\nNora is a potter.\n\n# Home\n\nShe lives in Bergen.","project_memories":{"p":"The kiln needs a fuse."},"account_uuid":"a"}]`
	out, r, err := translate(t, packed(t, "conversations.json", chats, "memories.json", known), Options{})
	if err != nil || r.Messages != 1 || r.Notes != 3 || !strings.Contains(out, "Nora is a potter.") || !strings.Contains(out, "The kiln needs a fuse.") {
		t.Errorf("%v\n%s%+v", err, out, r)
	}
}

// A mail is read of any program that kept it, and one that cannot be read does not stop the others.
func TestMails(t *testing.T) {
	t.Parallel()
	const one = "From: Nora <nora@example.com>\r\nDate: Sun, 1 Mar 2026 10:00:00 +0100\r\nSubject: Kiln\r\nMessage-ID: <1@x>\r\n\r\nIt is hot.\r\n"
	for _, source := range []string{put(t, "one.eml", []byte(one)), put(t, "mail.txt", []byte(one)), folder(t, "a/one.eml", one), folder(t, "INBOX.mbox/mbox", "From nora Sun Mar  1 10:00:00 2026\r\n"+one)} {
		out, r, err := translate(t, source, Options{})
		if err != nil || r.Format != "mail" || r.Messages != 1 || !strings.Contains(out, `"content":"It is hot."`) || !strings.Contains(out, `"name":"Nora"`) {
			t.Errorf("%s: %v\n%s%+v", source, err, out, r)
		}
	}
	if _, r, err := translate(t, folder(t, "a.eml", one, "b.eml", one), Options{}); err != nil || r.Messages != 1 || r.Left["messages that are there twice"] != 1 {
		t.Errorf("a mail that is there twice: %v %+v", err, r)
	}
	box := "From a Sun Mar  1 10:00:00 2026\n" + strings.ReplaceAll(one, "\r\n", "\n") + "\nFrom b Sun Mar  1 10:00:00 2026\nno fields at all\n\nFrom c Sun Mar  1 10:00:00 2026\n" +
		"From: Ida <ida@example.com>\nDate: Sun, 1 Mar 2026 11:00:00 +0100\nSubject: Only a subject\n\n"
	out, r, err := translate(t, put(t, "box.mbox", []byte(box)), Options{Zone: time.UTC})
	if err != nil || r.Messages != 2 || r.Left["mails that cannot be read"] != 1 || !strings.Contains(out, `"content":"Only a subject"`) {
		t.Errorf("%v\n%s%+v", err, out, r)
	}
}

// Discord's own export has what its owner wrote, with the titles of the chats beside.
func TestOwnExportOfDiscord(t *testing.T) {
	t.Parallel()
	out, r, err := translate(t, packed(t,
		"Account/user.json", `{"id":"7","username":"nora7","global_name":"Nora"}`,
		"Messages/index.json", `{"111":"kiln in Clay","112":"Direct Message with ida"}`,
		"Messages/c111/channel.json", `{"id":"111","type":"GUILD_TEXT"}`,
		"Messages/c111/messages.json", `[{"ID":1200,"Timestamp":"2026-03-01 10:01:00","Contents":"i fire on friday","Attachments":""},{"ID":1199,"Timestamp":"2026-03-01 10:00:00","Contents":"the kiln is hot","Attachments":""}]`,
		"Messages/c112/messages.json", `[]`), Options{})
	if err != nil || r.Messages != 2 || len(r.People) != 1 || r.People[0].Name != "Nora" || !strings.Contains(out, `"session":"kiln in Clay 2026-03-01"`) ||
		strings.Index(out, "kiln is hot") > strings.Index(out, "friday") {
		t.Errorf("%v\n%s%+v", err, out, r)
	}
}

// A folder with the exports of several chats is read whole, and what two of them have comes in once.
func TestSeveralExports(t *testing.T) {
	t.Parallel()
	telegram := func(chat string, ids ...int) string {
		var said []string
		for _, id := range ids {
			said = append(said, fmt.Sprintf(`{"id":%d,"type":"message","date":"2026-03-01T10:00:0%d","from":"Ida","from_id":"user1","text":"no. %d"}`, id, id, id))
		}
		return fmt.Sprintf(`{"name":%q,"type":"personal_chat","id":1,"messages":[%s]}`, chat, strings.Join(said, ","))
	}
	discord := func(channel, id string) string {
		return fmt.Sprintf(`{"guild":{"name":"Clay"},"channel":{"name":%q},"messages":[{"id":%q,"type":"Default","timestamp":"2026-03-01T10:00:00Z","content":"hi","author":{"id":"7","name":"nora"}}]}`, channel, id)
	}
	const chat = "13/3/26, 09:00 - Nora: Hi\n13/3/26, 09:00 - Nora: Hi\n14/3/26, 09:00 - Ida: Hello\n"
	for source, want := range map[string]struct{ messages, twice int }{
		folder(t, "ChatExport_1/result.json", telegram("Ida", 1, 2), "ChatExport_2/result.json", telegram("Tom", 1, 2)): {4, 0},
		folder(t, "ChatExport_1/result.json", telegram("Ida", 1, 2), "ChatExport_2/result.json", telegram("Ida", 2, 3)): {3, 1},
		folder(t, "Clay - kiln [2].json", discord("kiln", "1"), "Clay - glaze [3].json", discord("glaze", "1")):         {2, 0},
		folder(t, "WhatsApp Chat with Ida.txt", chat, "WhatsApp Chat with Ida (1).txt", chat):                           {3, 3},
	} {
		out, r, err := translate(t, source, Options{})
		if err != nil || r.Messages != want.messages || r.Left["messages that are there twice"] != want.twice {
			t.Errorf("%v\n%s%+v", err, out, r)
		}
	}
}

// What hostile sources have many of (lines of a message, parts of a mail, zips in a zip) costs what it is long, or is refused.
func TestHostileTalks(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a\n", 1<<20)
	for name, text := range map[string]string{
		"chat.txt": "13/3/26, 09:00 - Nora: Hi\n" + many,
		"talk.txt": "Nora: I fire.\nIda: Which glaze?\nNora: Celadon.\n" + many,
		"one.eml": "From: Nora <nora@example.com>\nDate: Sun, 1 Mar 2026 10:00:00 +0100\nContent-Type: multipart/mixed; boundary=b\n\n" +
			strings.Repeat("--b\nContent-Type: text/plain\n\na\n", 1<<15) + "--b--\n",
	} {
		s := must.Get(Open(put(t, name, []byte(text))))(t)
		long := 0
		if _, err := Read(t.Context(), s, Options{Now: now}, func(l Line) error { long += len(l.Content); return nil }); err != nil || long == 0 {
			t.Errorf("%s: %d, %v", name, long, err)
		}
		s.Close()
	}
	var zips []string
	for i := range maxInner + 1 {
		zips = append(zips, fmt.Sprintf("%d.zip", i), string(must.Get(os.ReadFile(packed(t, fmt.Sprintf("%d.md", i), "x")))(t)))
	}
	for name, source := range map[string]string{"many": packed(t, zips...), "packed": packed(t, "a.zip", "PK\x03\x04"+strings.Repeat("x", 4<<20))} {
		if _, _, err := translate(t, source, Options{}); fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}
