package llm_test

import (
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// C070, C071: the error of an unknown name lists the valid ones, a missing key is reported at start,
// and all problems are reported together.
func TestValidate_C070_C071(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  llm.Config
		says []string // none: valid
	}{
		"zero":                   {llm.Config{}, nil},
		"key alone":              {llm.Config{APIKey: secret}, nil},
		"unknown":                {llm.Config{Provider: "gpt"}, []string{`unknown provider "gpt"; use openai, ollama or heuristic`}},
		"unknown embedder":       {llm.Config{EmbedProvider: "bert"}, []string{`unknown embedder "bert"; use local, published, english, multilingual, openai, ollama or hash`}},
		"no key":                 {llm.Config{Provider: "openai", Model: "gpt-4o"}, []string{"llm.api_key: missing", "OPENAI_API_KEY"}},
		"no key, model alone":    {llm.Config{Model: "gpt-4o"}, []string{"llm.api_key: missing"}},
		"no key, own server":     {llm.Config{BaseURL: "http://127.0.0.1:8000/v1"}, nil},
		"no key, stated default": {llm.Config{BaseURL: "https://api.openai.com/v1"}, []string{"llm.api_key: missing"}},
		"ollama":                 {llm.Config{Provider: "ollama", Model: "llama3.2"}, nil},
		"nothing to ask":         {llm.Config{Provider: "openai", APIKey: secret}, []string{"needs a model or a base URL"}},
		"embed key":              {llm.Config{EmbedProvider: "openai"}, []string{"llm.embed_api_key: missing"}},
		"embed dim":              {llm.Config{EmbedProvider: "ollama", EmbedModel: "mystery"}, []string{"llm.embed_dim", "mystery"}},
		"embed dim stated":       {llm.Config{EmbedProvider: "ollama", EmbedModel: "mystery", EmbedDim: 512}, nil},
		"many": {
			llm.Config{Provider: "x", EmbedProvider: "y", BaseURL: "ftp://u:pw@host", Temperature: 3, MaxTries: -1, Timeout: -1, EmbedDim: 1e6},
			[]string{"llm.provider", "llm.embedder", "llm.base_url", "llm.temperature", "llm.max_tries", "llm.timeout", "llm.embed_dim"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.cfg.Validate()
			if (err == nil) != (len(tc.says) == 0) {
				t.Fatalf("%v", err)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not say %q", err, s)
				}
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "pw@")) {
				t.Errorf("a secret shows in %v", err)
			}
		})
	}
}

// A key alone sends nothing anywhere.
func TestNewModel(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, tc := range []struct {
		cfg  llm.Config
		want memory.Analyst
	}{
		{llm.Config{}, memory.AnalystHeuristic},
		{llm.Config{APIKey: secret}, memory.AnalystHeuristic},
		{llm.Config{Provider: llm.ProviderHeuristic, BaseURL: f.srv.URL(), Model: "fake"}, memory.AnalystHeuristic},
		{llm.Config{BaseURL: f.srv.URL()}, memory.AnalystModel},
		{f.cfg, memory.AnalystModel},
	} {
		m, err := llm.NewModel(f.deps, tc.cfg)
		if err != nil || m.Analyst() != tc.want {
			t.Errorf("%+v: %v, %v", tc.cfg, m, err)
		}
	}
	if _, err := llm.NewModel(f.deps, llm.Config{Provider: "gpt"}); err == nil {
		t.Error("an unknown provider starts")
	}
	if _, err := llm.NewModel(llm.Deps{}, f.cfg); err == nil {
		t.Error("a model without a clock starts")
	}
}

// The key for completion is sent to no other host.
func TestEmbedKeyStaysHome(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BaseURL = "https://models.example.org/v1"
	f.cfg.EmbedBaseURL = f.srv.URL()
	must.Get(f.embedder(t).Embed(t.Context(), f.scope, []string{"a"}))(t)
	f.cfg.EmbedAPIKey = "another"
	must.Get(f.embedder(t).Embed(t.Context(), f.scope, []string{"b"}))(t)
	r := f.srv.Requests()
	if r[0].Key != "" || r[1].Key != "another" {
		t.Errorf("keys %q, %q", r[0].Key, r[1].Key)
	}
}
