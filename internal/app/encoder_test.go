package app

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/test/must"
)

// Notes are found by meaning without a model, a key or a server.
func TestLocalEncoderEndToEnd(t *testing.T) {
	t.Parallel()
	dir := weightstest.Dir(t)
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir = "", dir })
		made := g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
		if made["embedder"] != llm.TalkName {
			t.Errorf("a new collection is bound to %v", made["embedder"])
		}
		bees := g.add("c", "Two bee colonies survived the frost, wrapped in straw.")["note"].(object)["id"].(string)
		g.add("c", "The payment tests failed because of currency rounding.")
		g.add("c", "Nora fired twelve vases in the gas kiln.")
		for _, mode := range []string{"vector", "hybrid"} { // no word of the note is in the query
			if ids := g.search("c", "Did the insects make it through winter?", mode); len(ids) == 0 || ids[0] != bees {
				t.Errorf("%s finds %v first, want %s", mode, ids, bees)
			}
		}
		allergy := g.add("c", "我对花生过敏，所以买酱料前总要看配料表。")["note"].(object)["id"].(string)
		for _, question := range []string{"什么食物会让我身体出大问题？", "Which food could make me seriously ill?"} {
			if ids := g.search("c", question, "hybrid"); len(ids) == 0 || ids[0] != allergy {
				t.Errorf("%s: finds %v first, want %s", question, ids, allergy)
			}
		}
		ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
		if ready["checks"].(object)["encoder"] != "ok" || ready["notices"] != nil {
			t.Errorf("%v", ready)
		}
		resp := must.Get(http.Get(g.url + "/metrics"))(t)
		defer resp.Body.Close()
		page := must.Get(io.ReadAll(resp.Body))(t)
		for _, want := range []string{"slipbox_encoder_texts_total", "slipbox_encoder_duration_seconds_count", "slipbox_embeddings_lookups_total{", "slipbox_embeddings_capacity{"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the metrics do not have %s", want)
			}
		}
	})
}

// Missing weights are like an endpoint that is down: searches by words work, and new notes wait
// until the weights are back. Nothing is embedded by another embedder (C075).
func TestEncoderGoneAndBack(t *testing.T) {
	t.Parallel()
	good, data, empty := weightstest.Dir(t), t.TempDir(), t.TempDir()
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir, c.Data = "", good, data })
	key := g.key
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	ferry := g.add("c", "The ferry to Texel leaves at nine.")["note"].(object)["id"]
	g.stop()

	cfg := settings(t, nil, func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir, c.Data = "", empty, data })
	g, _ = launch(t, cfg)
	g.key = key
	ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	if ready["checks"].(object)["encoder"] != "degraded" || !strings.Contains(ready["notices"].([]any)[0].(string), "gateway encoder install") {
		t.Errorf("%v", ready)
	}
	if n := strings.Count(g.logs.String(), "gateway encoder install"); n != 1 {
		t.Errorf("the log warns %d times", n)
	}
	found := g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "ferry"})
	if hits := found["hits"].([]any); len(hits) != 1 || hits[0].(object)["note"].(object)["id"] != ferry || found["degraded"] == nil {
		t.Errorf("%v", found)
	}
	g.call(http.StatusServiceUnavailable, http.MethodPost, "/v1/collections/c/search", object{"query": "ferry", "mode": "vector"})
	boat := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The boat was late."})["note"].(object)["id"].(string)
	get := func() object {
		return g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes/"+boat+"?include=embedding", nil)
	}
	g.until("the note waits", func() bool { return get()["state"] == "pending" })
	if n := get(); n["embedding"] != nil || !strings.Contains(n["error"].(string), "encoder") {
		t.Errorf("%v", n)
	}
	if made := g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "d"}); made["embedder"] != llm.HashName {
		t.Errorf("a collection made meanwhile is bound to %v", made["embedder"])
	}

	if _, fresh, err := InstallEncoder(t.Context(), cfg, encoder.MiniLM.Name, good, io.Discard); !fresh || err != nil {
		t.Fatalf("%v %v", fresh, err)
	}
	g.until("the note goes on", func() bool { n := get(); return n["state"] == "evolved" && n["embedding"] != nil })
	if ids := g.search("c", "shipping delays", "vector"); len(ids) != 2 || ids[0] != boat {
		t.Errorf("%v", ids)
	}
}

func TestConfiguredEncoderIsRequired(t *testing.T) {
	t.Parallel()
	cfg := settings(t, nil, func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir = "local", t.TempDir() })
	g, err := NewGateway(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil {
		g.Close()
	}
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "gateway encoder install") {
		t.Errorf("%v", err)
	}
}

func TestDoctorChecksTheEncoder(t *testing.T) {
	t.Parallel()
	good, half := weightstest.Dir(t), t.TempDir()
	cfg := settings(t, nil, func(c *Settings) { c.LLM.EncoderDir = half })
	if _, _, err := InstallEncoder(t.Context(), cfg, encoder.MiniLM.Name, good, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		provider, dir string
		states        map[string]FindingState
	}{
		"by default":              {"", good, map[string]FindingState{"embedder": OK, "encoder": OK}},
		"asked for":               {"local", good, map[string]FindingState{"embedder": OK, "encoder": OK}},
		"declined":                {"hash", t.TempDir(), map[string]FindingState{"embedder": OK}},
		"English alone":           {"", half, map[string]FindingState{"embedder": Note, "encoder": Note}},
		"English asked for":       {"english", half, map[string]FindingState{"embedder": OK, "encoder": OK}},
		"missing":                 {"", t.TempDir(), map[string]FindingState{"embedder": Note, "encoder": Note}},
		"missing, and asked for":  {"local", t.TempDir(), map[string]FindingState{"embedder": Bad, "encoder": Bad}},
		"a file in place of it":   {"", good + "/vocab.txt", map[string]FindingState{"embedder": Note, "encoder": Note}},
		"another embedder serves": {"ollama", t.TempDir(), map[string]FindingState{"embedder": Bad}},
	} {
		cfg := settings(t, nil, func(s *Settings) {
			s.LLM.EmbedProvider, s.LLM.EncoderDir, s.LLM.EmbedBaseURL = c.provider, c.dir, "http://127.0.0.1:1/v1"
		})
		got := map[string]FindingState{}
		for _, f := range doctorEmbedder(t.Context(), cfg) {
			got[f.Name] = f.State
			if f.State != OK && f.Fix == "" {
				t.Errorf("%s: no fix for %q", name, f.Detail)
			}
			if f.Name == "encoder" && !strings.Contains(f.Detail, c.dir) {
				t.Errorf("%s: %q does not name the directory", name, f.Detail)
			}
		}
		if len(got) != len(c.states) || got["embedder"] != c.states["embedder"] || got["encoder"] != c.states["encoder"] {
			t.Errorf("%s: %v, want %v", name, got, c.states)
		}
	}
}

func TestInstallEncoderSaysWhatToDo(t *testing.T) {
	t.Parallel()
	cfg := settings(t, nil, func(c *Settings) { c.LLM.EncoderDir = t.TempDir() })
	for _, model := range []string{encoder.MiniLM.Name, ""} {
		_, _, err := InstallEncoder(t.Context(), cfg, model, t.TempDir(), io.Discard)
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(f.Message, "model.safetensors") {
			t.Errorf("%q: %v", model, err)
		}
	}
	if _, _, err := InstallEncoder(t.Context(), cfg, "other", t.TempDir(), io.Discard); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}
