package transfer

import (
	"cmp"
	"encoding/json"
	"html"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// slack reads the export of a workspace: a folder for each channel, with a file for each day. A day of a channel is a session, and
// so is a thread.
type slack struct {
	base     string
	files    []string
	names    names
	bots     map[string]bool
	channels map[string]string // by id and by folder
}

type slackUser struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Bot     bool   `json:"is_bot"`
	Profile struct {
		Real    string `json:"real_name"`
		Display string `json:"display_name"`
	} `json:"profile"`
}

type slackChannel struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

type slackMessage struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	Username string `json:"username"`
	Text     string `json:"text"`
	TS       string `json:"ts"`
	Thread   string `json:"thread_ts"` // "": none. The message that a thread is about belongs to it
	Profile  struct {
		Real    string `json:"real_name"`
		Display string `json:"display_name"`
	} `json:"user_profile"`
	Files []struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	} `json:"files"`

	Blocks      json.RawMessage `json:"blocks"`
	Attachments json.RawMessage `json:"attachments"`
}

// spoken are the subtypes of what somebody says; the others are notices.
var spoken = []string{"", "bot_message", "me_message", "file_share", "thread_broadcast", "file_comment"}

var (
	slackDay  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}\.json$`)
	slackLink = regexp.MustCompile(`<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>`)
)

func isSlack(s *Source) bool {
	at := s.find("users.json")
	return at != "" && (s.has(at, "channels.json") || s.has(at, "dms.json") || s.has(at, "groups.json"))
}

func (t *slack) index(r *reading) (pieces []piece, err error) {
	users := r.source.find("users.json")
	t.base, t.names, t.bots, t.channels = path.Dir(users), newNames(), map[string]bool{}, map[string]string{}
	people, err := decodeFile[[]slackUser](r, users)
	if err != nil {
		return nil, err
	}
	for _, u := range people {
		t.names.add(u.ID, cmp.Or(u.Profile.Display, u.Profile.Real, u.Name))
		t.bots[u.ID] = u.Bot
	}
	for _, list := range []string{"channels.json", "groups.json", "dms.json", "mpims.json"} {
		if err := t.readChannels(r, list); err != nil {
			return nil, err
		}
	}
	for _, name := range r.source.files {
		base := path.Base(name)
		if !slackDay.MatchString(base) || path.Dir(path.Dir(name)) != t.base {
			continue
		}
		day, err := time.Parse(time.DateOnly, strings.TrimSuffix(base, ".json"))
		if err == nil {
			pieces = append(pieces, piece{unix(day), len(t.files), 0, -1})
			t.files = append(t.files, name)
		}
	}
	return pieces, nil
}

// readChannels reads the names of channels. A direct conversation is named after those who have it.
func (t *slack) readChannels(r *reading, name string) error {
	if !r.source.has(path.Join(t.base, "users.json"), name) {
		return nil
	}
	list, err := decodeFile[[]slackChannel](r, path.Join(t.base, name))
	if err != nil {
		return err
	}
	for _, c := range list {
		called := "#" + c.Name
		if c.Name == "" {
			var who []string
			for _, id := range c.Members {
				who = append(who, t.names.of(id))
			}
			called = strings.Join(who, ", ")
		}
		t.channels[c.ID] = called
		t.channels[cmp.Or(c.Name, c.ID)] = called
	}
	return nil
}

func (t *slack) read(r *reading, p piece) error {
	name := t.files[p.file]
	folder := path.Base(path.Dir(name))
	channel := cmp.Or(t.channels[folder], folder)
	day := strings.TrimSuffix(path.Base(name), ".json")
	var messages []slackMessage
	if err := list(r, name, func(m *slackMessage, _, _ int64) error {
		messages = append(messages, *m)
		return nil
	}); err != nil {
		return err
	}
	// A thread is read as one conversation, behind what the channel says.
	slices.SortStableFunc(messages, func(a, b slackMessage) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.TS, b.TS))
	})
	for i := range messages {
		m := &messages[i]
		if m.Type != "message" || !slices.Contains(spoken, m.Subtype) {
			r.left("notices of the program", 1)
			continue
		}
		session := clip.Head(channel, 150) + " " + day
		if m.Thread != "" {
			session = clip.Head(channel, 150) + " thread " + slackTime(m.Thread).In(r.Zone).Format("2006-01-02 15:04:05.000000")
		}
		t.names.add(m.User, cmp.Or(m.Profile.Display, m.Profile.Real))
		out := message{
			id: folder + ":" + m.TS, session: session, at: slackTime(m.TS).In(r.Zone), text: t.words(m.said()),
			name: cmp.Or(t.names.of(m.User), m.Username, m.Bot),
		}
		if m.Bot != "" || t.bots[m.User] || m.Subtype == "bot_message" {
			out.role = "assistant"
		}
		for _, f := range m.Files {
			out.files = append(out.files, cmp.Or(f.Title, f.Name))
		}
		if err := r.message(out); err != nil {
			return err
		}
	}
	return nil
}

func slackTime(ts string) time.Time {
	whole, part, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n == 0 {
		return time.Time{}
	}
	micros, _ := strconv.ParseInt((part + "000000")[:6], 10, 64)
	return time.Unix(n, micros*1000).UTC()
}

// words returns a text of Slack as people read it: with names for ids, and without its escapes.
func (t *slack) words(text string) string {
	text = slackLink.ReplaceAllStringFunc(text, func(link string) string {
		part := slackLink.FindStringSubmatch(link)
		kind, target, shown := part[1], part[2], part[3]
		switch {
		case kind == "@":
			return "@" + cmp.Or(t.names.byID[target], shown, target)
		case kind == "#":
			return cmp.Or(t.channels[target], "#"+cmp.Or(shown, target))
		case kind == "!":
			return cmp.Or(shown, "@"+strings.TrimPrefix(target, "subteam^"))
		case shown == "" || shown == target:
			return target
		}
		return shown + " (" + target + ")"
	})
	return html.UnescapeString(text)
}
