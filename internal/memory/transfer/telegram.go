package transfer

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"
)

// telegram reads the result.json of Telegram's desktop program: one chat, or all chats. A day of a chat is a session.
type telegram struct {
	chats []telegramChat
	names names
}

// telegramChat is a chat with the file that it is in.
type telegramChat struct{ title, file string }

type telegramMessage struct {
	ID       int64           `json:"id"`
	Type     string          `json:"type"`
	Date     string          `json:"date"`
	Unix     string          `json:"date_unixtime"`
	From     string          `json:"from"`
	FromID   string          `json:"from_id"`
	Text     json.RawMessage `json:"text"`
	Media    string          `json:"media_type"`
	File     string          `json:"file_name"`
	Sticker  string          `json:"sticker_emoji"`
	Forward  string          `json:"forwarded_from"`
	Place    string          `json:"place_name"`
	Address  string          `json:"address"`
	Location *struct {
		Latitude  json.Number `json:"latitude"`
		Longitude json.Number `json:"longitude"`
	} `json:"location_information"`
	Contact struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
		Phone string `json:"phone_number"`
	} `json:"contact_information"`
	Poll *struct {
		Question json.RawMessage `json:"question"`
	} `json:"poll"`
	List *struct {
		Title json.RawMessage `json:"title"`
		Items []struct {
			Text json.RawMessage `json:"text"`
		} `json:"answers"`
	} `json:"todo_list"`
}

func telegramFiles(s *Source) (out []string) {
	for _, name := range s.files {
		if path.Base(name) == "result.json" || len(s.files) == 1 && s.zip == nil {
			head := s.head(name)
			if begins(head, '{', "name", "type", "messages") && strings.Contains(head, `"date"`) || begins(head, '{', "about", "chats") {
				out = append(out, name)
			}
		}
	}
	return out
}

func isTelegram(s *Source) bool { return len(telegramFiles(s)) > 0 }

func (t *telegram) index(r *reading) (pieces []piece, err error) {
	t.names = newNames()
	files := r.orFirst(telegramFiles(r.source))
	r.several = len(files) > 1
	for _, file := range files {
		if err := r.stream(file, func(s *stream) error { return t.chat(r, s, &pieces) }); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// chat lists the days of a chat, or of all chats below.
func (t *telegram) chat(r *reading, s *stream, pieces *[]piece) error {
	name, id := "", ""
	return s.members(func(member string) error {
		switch member {
		case "name":
			return s.Decode(&name) // of a deleted account: null
		case "id":
			var n json.Number
			err := s.Decode(&n)
			id = n.String()
			return err
		case "chats", "left_chats":
			return t.chat(r, s, pieces)
		case "list":
			return s.elements(func() error { return t.chat(r, s, pieces) })
		case "messages":
			t.chats = append(t.chats, telegramChat{sessionOf(name, id, time.Time{}), s.name})
			return t.days(r, s, pieces)
		}
		return s.skip()
	})
}

// days lists the days of the messages that come next.
func (t *telegram) days(r *reading, s *stream, pieces *[]piece) error {
	day, first := "", true
	return decodeList(r, s, func(m *telegramMessage, from, to int64) error {
		t.names.add(m.FromID, m.From)
		if date, _, _ := strings.Cut(m.Date, "T"); date != day || first {
			day, first = date, false
			*pieces = append(*pieces, piece{unix(m.at()), len(t.chats) - 1, from, to})
		}
		(*pieces)[len(*pieces)-1].to = to
		return nil
	})
}

func (t *telegram) read(r *reading, p piece) error {
	chat := t.chats[p.file]
	in, err := r.part(chat.file, p.from, p.to)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return decodeList(r, newStream(wrapped(in), chat.file), func(m *telegramMessage, _, _ int64) error {
		if m.Type != "message" {
			r.left("notices of the program", 1)
			return nil
		}
		at := m.at()
		out := message{
			id: chat.title + ":" + strconv.FormatInt(m.ID, 10), name: t.names.of(m.FromID), at: at, text: m.words(),
			session: dayOf(chat.title, at), attributes: map[string]any{}, files: []string{m.File},
		}
		if m.Forward != "" {
			out.attributes["forwarded_from"] = label(m.Forward)
		}
		return r.message(out)
	})
}

// at returns when a message was sent, in the zone of the one who exported: Telegram writes both the instant and the local time.
func (m *telegramMessage) at() time.Time {
	local := stamp(m.Date)
	n, err := strconv.ParseInt(m.Unix, 10, 64)
	if err != nil || n == 0 {
		return local
	}
	at := time.Unix(n, 0).UTC()
	if offset := int(local.Sub(at).Seconds()); !local.IsZero() && offset%900 == 0 && offset > -16*3600 && offset < 16*3600 && offset != 0 {
		return at.In(time.FixedZone("", offset))
	}
	return at
}

// words returns what a message says. A text is a string, an object with one, or a list of strings and of parts with a format.
func (m *telegramMessage) words() string {
	if said := telegramText(m.Text); said != "" {
		return said
	}
	if m.Poll != nil {
		return telegramText(m.Poll.Question)
	}
	if m.List != nil {
		lines := []string{telegramText(m.List.Title)}
		for _, item := range m.List.Items {
			lines = append(lines, telegramText(item.Text))
		}
		return joined(lines, "\n- ")
	}
	place := joined([]string{m.Place, m.Address}, ", ")
	if place == "" && m.Location != nil {
		place = m.Location.Latitude.String() + ", " + m.Location.Longitude.String()
	}
	return cmp.Or(m.Sticker, place, joined([]string{m.Contact.First, m.Contact.Last, m.Contact.Phone}, " "))
}

func telegramText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		parts = []json.RawMessage{raw}
	}
	var out strings.Builder
	for _, raw := range parts {
		var part struct {
			Text string `json:"text"`
			Href string `json:"href"`
		}
		if json.Unmarshal(raw, &text) == nil {
			out.WriteString(text)
		} else if json.Unmarshal(raw, &part) == nil {
			out.WriteString(part.Text)
			if part.Href != "" {
				out.WriteString(" (" + part.Href + ")")
			}
		}
	}
	return out.String()
}
