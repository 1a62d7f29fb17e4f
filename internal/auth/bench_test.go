package auth

import "testing"

func BenchmarkAuthenticate(b *testing.B) {
	// A key costs one hash per request, a token one signature verification.
	w := newFixture(b)
	k := w.key(b, NewKey{})
	for name, c := range map[string]string{"key": k.Text, "token": w.token(b, k.Text, TokenRequest{}).AccessToken} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Authenticator.Authenticate(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
