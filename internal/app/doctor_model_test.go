package app

import "testing"

func TestSmallModels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"qwen2.5:1.5b": true, "llama3.2:1b": true, "SmolLM2-135M-Instruct": true, "gemma-3-270m-it-q4": true, "qwen2.5-coder-0.5b": true,
		"llama3.2:3b": false, "qwen3-30b-a3b": false, "Mixtral-8x7B": false, "gpt-4o-mini": false, "llama3.2": false, "mistral-7b-v0.3": false,
		"model-v2.1beta": false, "": false,
	} {
		if got := isSmall(name); got != want {
			t.Errorf("%q is small: %v, want %v", name, got, want)
		}
	}
}
