package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// FindingState is the state of one finding.
type FindingState string

// The states. Note means that it works, but perhaps not as expected.
const (
	OK   FindingState = "ok"
	Note FindingState = "note"
	Bad  FindingState = "bad"
)

// Finding is the result of one check of Doctor.
type Finding struct {
	Name   string
	State  FindingState
	Detail string
	Fix    string // what to do; "" for nothing
}

// Doctor checks what a gateway with these settings needs. It changes nothing and waits at most a
// few seconds for each endpoint.
func Doctor(ctx context.Context, cfg Settings, log *slog.Logger) []Finding {
	out := []Finding{doctorSettings(cfg)}
	if cfg.Servers() {
		out = append(out, doctorServers(ctx, cfg, log)...)
	} else {
		out = append(out, doctorData(cfg), doctorStore(ctx, cfg, log))
	}
	return slices.Concat(out, []Finding{doctorAddress(ctx, cfg), doctorProxies(cfg), doctorPublicURL(cfg), doctorModel(ctx, cfg)}, doctorEmbedder(ctx, cfg))
}

func doctorSettings(cfg Settings) Finding {
	f := Finding{Name: "settings", State: OK, Detail: "valid (`gateway config` prints them)"}
	if len(cfg.UnknownVariables) > 0 {
		f.State, f.Detail = Note, "no setting has the name "+strings.Join(cfg.UnknownVariables, ", ")
		f.Fix = "correct the name of the variable, or unset it: it is ignored"
	} else if unused := cfg.Unused(); len(unused) > 0 {
		f.State, f.Detail = Note, strings.Join(unused, "; ")
		f.Fix = "set what it needs, or unset it"
	}
	return f
}

func doctorData(cfg Settings) Finding {
	f := Finding{Name: "data", State: OK}
	info, err := os.Stat(cfg.Data)
	switch {
	case os.IsNotExist(err):
		if err := canCreate(cfg.Data); err != nil {
			return Finding{Name: "data", State: Bad, Detail: cfg.Data + " does not exist and cannot be created: " + err.Error(), Fix: "name another with --data or SLIPBOX_DATA"}
		}
		f.Detail = cfg.Data + " does not exist yet; the first start creates it"
		return f
	case err != nil || !info.IsDir():
		return Finding{Name: "data", State: Bad, Detail: cfg.Data + " is not a directory", Fix: "name another with --data or SLIPBOX_DATA"}
	}
	probe, err := os.CreateTemp(cfg.Data, ".doctor-*")
	if err != nil {
		return Finding{Name: "data", State: Bad, Detail: cfg.Data + " cannot be written: " + err.Error(), Fix: writableFix + ", or free some space"}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	f.Detail = cfg.Data + " can be written"
	if _, err := os.Stat(filepath.Join(cfg.Data, lockFile)); err == nil {
		lock := flock.New(filepath.Join(cfg.Data, lockFile))
		held, err := lock.TryLock()
		switch {
		case err == nil && held:
			_ = lock.Close()
			f.Detail += "; no gateway uses it"
		case err == nil:
			f.Detail += "; a gateway uses it"
		}
	}
	return f
}

// canCreate returns nil when a missing directory could be created. It creates and removes a probe
// in the nearest parent that exists.
func canCreate(dir string) error {
	above, err := filepath.Abs(dir)
	for err == nil {
		above = filepath.Dir(above)
		info, statErr := os.Stat(above)
		if os.IsNotExist(statErr) {
			continue
		}
		if statErr != nil {
			return statErr
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", above)
		}
		probe, probeErr := os.MkdirTemp(above, ".doctor-*")
		if probeErr != nil {
			return fmt.Errorf("%s cannot be written", above)
		}
		return os.Remove(probe)
	}
	return err
}

// doctorAddress checks the address of the gateway: whether it is free, or a gateway answers there.
func doctorAddress(ctx context.Context, cfg Settings) Finding {
	f := Finding{Name: "address", State: OK}
	l, err := listen(ctx, cfg.Addr, "--addr or SLIPBOX_ADDR")
	if err == nil {
		_ = l.Close()
		f.Detail = "nothing listens on " + cfg.Addr + "; `gateway serve` would"
		return f
	}
	if version, err := askVersion(ctx, cfg.Addr); err == nil {
		f.Detail = fmt.Sprintf("a gateway (%s) answers on %s", version, cfg.Addr)
		return f
	}
	return Finding{
		Name: "address", State: Note, Detail: "a gateway cannot listen on " + cfg.Addr + ", and none answers there",
		Fix: "stop what listens there, or choose another address with --addr or SLIPBOX_ADDR",
	}
}

// doctorProxies names the proxies whose word about a client's address is believed. Limits are counted by address.
func doctorProxies(cfg Settings) Finding {
	f := Finding{Name: "proxies", State: OK, Detail: "X-Forwarded-For is believed from " + strings.Join(cfg.HTTP.TrustedProxies, ", ")}
	if len(cfg.HTTP.TrustedProxies) > 0 {
		return f
	}
	f.Detail = "none is trusted: each client has the address that it connects from"
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil && isLoopback(host) {
		return f
	}
	f.State, f.Fix = Note, "behind a proxy, name its network in SLIPBOX_TRUSTED_PROXIES: else all clients behind it share one address and its limits"
	return f
}

// noPublicURL says what is missing for programs on the web.
const noPublicURL = "set SLIPBOX_PUBLIC_URL to the https address of this gateway, so that ChatGPT, Claude on the web and others can connect to /mcp"

// doctorPublicURL says who can connect to /mcp by OAuth.
func doctorPublicURL(cfg Settings) Finding {
	f := Finding{Name: "public address", State: OK, Detail: "programs connect by OAuth to " + strings.TrimSuffix(cfg.HTTP.PublicURL, "/") + "/mcp"}
	if cfg.HTTP.PublicURL == "" {
		f.Detail = "none is known: programs connect to /mcp by OAuth from this machine only"
		if host, _, err := net.SplitHostPort(cfg.Addr); err != nil || !isLoopback(host) {
			f.State, f.Fix = Note, noPublicURL
		}
	}
	return f
}

// isLoopback reports whether only this machine reaches a host.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// askVersion returns the version of the gateway at an address.
func askVersion(ctx context.Context, addr string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/version", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var found build.Info
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<12)).Decode(&found); err != nil {
		return "", err
	}
	if found.Commit == "" {
		return "", fmt.Errorf("status %s", resp.Status)
	}
	return found.Version, nil
}

// writableFix says what to do about data that cannot be written or locked.
const writableFix = "make the user that runs the gateway the owner of the data directory and its files, and mount it writable"

func doctorStore(ctx context.Context, cfg Settings, log *slog.Logger) Finding {
	st, err := openToolStore(ctx, cfg, log)
	if fault.Is(err, fault.NotFound) {
		return Finding{Name: "store", State: OK, Detail: "none yet; the first start creates it"}
	}
	if fault.Is(err, fault.Unavailable) {
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: writableFix}
	}
	if errors.Is(err, store.ErrOlder) {
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: "start `gateway serve` of this build once"}
	}
	if err != nil {
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: "restore a backup into an empty data directory (`gateway restore FILE`), or use the build that wrote it"}
	}
	defer func() { _ = st.Close() }()
	size, err := st.Size(ctx)
	if err != nil {
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: "run `gateway check`"}
	}
	schema, err := st.Schema(ctx)
	if err != nil {
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: "run `gateway check`"}
	}
	f := Finding{Name: "store", State: OK, Detail: fmt.Sprintf("opens, %s, %.1f MiB (`gateway check` verifies it all)", schema, float64(size)/(1<<20))}
	switch traces, err := st.Traces(ctx); {
	case err != nil:
		return Finding{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: "run `gateway check`"}
	case traces == memory.TracesVacuumNeeded:
		f.State, f.Detail = Note, f.Detail+"; gaps of its pages may keep pieces of what was erased"
		f.Fix = "run `gateway vacuum`, when writes can wait"
	}
	return f
}

func doctorModel(ctx context.Context, cfg Settings) Finding {
	if !cfg.LLM.UsesModel() {
		return Finding{Name: "model", State: OK, Detail: "none: the heuristic analyst describes and links notes, without network or key"}
	}
	endpoint := cfg.LLM.Endpoint()
	if err := checkEndpoint(ctx, endpoint, cfg.LLM.APIKey, cfg.LLM.KeyHeader); err != nil {
		f := Finding{
			Name: "model", State: Bad, Detail: fmt.Sprintf("%s cannot be used: %v", redactEndpoint(endpoint), err),
			Fix: "check SLIPBOX_LLM_BASE_URL and SLIPBOX_LLM_API_KEY, or set SLIPBOX_LLM=heuristic to run without a model",
		}
		if cfg.LLM.Provider == llm.ProviderOllama {
			f.Fix = "start Ollama (`ollama serve`), check SLIPBOX_LLM_BASE_URL, or set SLIPBOX_LLM=heuristic to run without a model"
		}
		return f
	}
	f := Finding{Name: "model", State: OK, Detail: redactEndpoint(endpoint) + " answers"}
	if model := cfg.LLM.InForce().Model; isSmall(model) {
		f.State = Note
		f.Detail += fmt.Sprintf("; the name of %s says that it has less than %d billion parameters", model, fewParameters)
		f.Fix = "without a model, facts are quoted: in small samples, 43 of 104 quotations were good, and 6 of 33 facts of a model of 1.5 billion parameters " +
			"(docs/models.md). Name a larger one, set \"extraction\": \"quotations\" in the policy_config of mem0, or set SLIPBOX_LLM=heuristic"
	}
	return f
}

// fewParameters, in billions, is a guess at what a model that rewrites what people say needs at least: docs/models.md has
// what 0.5 and 1.5 did, and nothing between these and large ones was measured.
const fewParameters = 3

// parameters matches a number of parameters in the name of a model, such as "qwen2.5:1.5b" or "SmolLM2-135M-Instruct".
var parameters = regexp.MustCompile(`(?i)(?:^|[^0-9.a-z])a?([0-9]+(?:\.[0-9]+)?)([bm])(?:[^a-z0-9]|$)`)

// isSmall reports whether the name of a model says that it has few parameters. Of several numbers the largest counts: that
// of all parameters, where the name also has that of the active ones.
func isSmall(model string) bool {
	most := 0.0
	for _, m := range parameters.FindAllStringSubmatch(model, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			continue
		}
		if strings.EqualFold(m[2], "m") {
			n /= 1000
		}
		most = max(most, n)
	}
	return most > 0 && most < fewParameters
}

func doctorEmbedder(ctx context.Context, cfg Settings) []Finding {
	if endpoint := cfg.LLM.EmbedEndpoint(); endpoint != "" {
		f := Finding{Name: "embedder", State: OK, Detail: redactEndpoint(endpoint) + " answers"}
		key, header := cfg.LLM.EmbedKey()
		if err := checkEndpoint(ctx, endpoint, key, header); err != nil {
			f = Finding{
				Name: "embedder", State: Bad, Detail: fmt.Sprintf("%s cannot be used: %v", redactEndpoint(endpoint), err),
				Fix: "check SLIPBOX_EMBED_BASE_URL, or set SLIPBOX_EMBEDDER=hash to run without it",
			}
		}
		return []Finding{f}
	}
	encoder := doctorEncoder(cfg)
	f := Finding{Name: "embedder", State: OK, Detail: llm.TalkName + ", in process"}
	switch cfg.LLM.EmbedProvider {
	case llm.EmbedPublished:
		f.Detail = llm.ByLanguageName + ", in process"
	case llm.EmbedEnglish:
		f.Detail = llm.LocalName + ", in process"
	case llm.EmbedMultilingual:
		f.Detail = llm.MultilingualName + ", in process"
	}
	switch {
	case cfg.LLM.EmbedProvider == llm.EmbedHash:
		return []Finding{{Name: "embedder", State: OK, Detail: llm.HashName + ", in process"}}
	case encoder.State == OK:
	case cfg.LLM.EmbedProvider != "":
		f = Finding{
			Name: "embedder", State: Bad, Detail: "SLIPBOX_EMBEDDER=" + cfg.LLM.EmbedProvider + " asks for a local encoder, which cannot serve: no gateway starts",
			Fix: "repair the encoder, or unset SLIPBOX_EMBEDDER to run without it",
		}
		encoder.State = Bad
	case cfg.LLM.InForce().EmbedProvider == llm.EmbedEnglish:
		f = Finding{
			Name: "embedder", State: Note, Detail: llm.LocalName + ", in process: it reads English alone",
			Fix: "repair the encoder, or set SLIPBOX_EMBEDDER=english if this is intended",
		}
	default:
		f = Finding{
			Name: "embedder", State: Note, Detail: llm.HashName + ", in process: it matches words and spellings, not meanings",
			Fix: "repair the encoder, or set SLIPBOX_EMBEDDER=hash if this is intended",
		}
	}
	return []Finding{f, encoder}
}

// checkEndpoint asks an OpenAI-compatible endpoint for its models. It returns nil for any status
// below 500, except 401 when a key is set.
func checkEndpoint(ctx context.Context, endpoint, key, header string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, llm.JoinPath(endpoint, "models"), http.NoBody)
	if err != nil {
		return fmt.Errorf("not a URL: %w", err)
	}
	switch {
	case key == "":
	case header != "":
		req.Header.Set(header, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if key != "" && resp.StatusCode == http.StatusUnauthorized {
		return errors.New("it does not accept the key (401)")
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func redactEndpoint(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the endpoint"
	}
	return u.Redacted()
}
