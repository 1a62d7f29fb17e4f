package main

import (
	"strings"
	"testing"
)

func TestPlantedMistakesInDockerfile(t *testing.T) {
	t.Parallel()
	file := read(t, "..", "..", "deploy", "Dockerfile")
	if mistakes, err := checkDockerfile(strings.NewReader(file)); err != nil || len(mistakes) > 0 {
		t.Fatalf("%v %q", err, mistakes)
	}
	for name, c := range map[string]struct{ old, with, want string }{
		"base without version":  {"golang:1.26.8-bookworm", "golang", "the base golang is not pinned"},
		"missing stage":         {"--from=build /out/tmp", "--from=builder /out/tmp", "copies from builder, which is no stage"},
		"root":                  {"USER 65532:65532", "USER root", `runs as "root"`},
		"entry in a shell":      {`ENTRYPOINT ["/usr/local/bin/gateway"]`, "ENTRYPOINT /usr/local/bin/gateway", "ENTRYPOINT"},
		"command in a shell":    {`CMD ["serve"]`, "CMD serve", "CMD"},
		"no worker":             {"COPY --from=build /out/bin/worker /usr/local/bin/worker\n", "", "/usr/local/bin/worker is not copied"},
		"no label":              {"org.opencontainers.image.licenses", "licenses", "org.opencontainers.image.licenses is missing"},
		"data of root":          {"--chown=65532:65532 ", "", "/data does not belong"},
		"shell in the image":    {"USER 65532", "RUN true\nUSER 65532", "RUN needs a shell"},
		"secret in an argument": {"ARG TARGETOS", "ARG SLIPBOX_LLM_API_KEY", "SLIPBOX_LLM_API_KEY would be kept in the image"},
		"secret in a variable":  {"ENV PATH=", "ENV SLIPBOX_WRAPPING_KEY=x PATH=", "SLIPBOX_WRAPPING_KEY would be kept in the image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mistakes, err := checkDockerfile(strings.NewReader(plant(t, file, c.old, c.with)))
			if err != nil {
				t.Fatal(err)
			}
			expect(t, mistakes, c.want)
		})
	}
	for name, c := range map[string]struct{ old, with string }{
		"unknown instruction": {"WORKDIR", "WORKDIRECTORY"},
		"unknown flag":        {"--chown", "--chwon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if mistakes, err := checkDockerfile(strings.NewReader(plant(t, file, c.old, c.with))); err == nil {
				t.Errorf("accepted: %q", mistakes)
			}
		})
	}
}
