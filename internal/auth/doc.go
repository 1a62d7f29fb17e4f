// Package auth turns a credential into a principal with a tenant scope: API
// keys, of which only a hash is kept, and short-lived tokens (JWT, EdDSA) that
// are exchanged for keys and end with them.
//
// It owns the text of keys, the claims of tokens, the signing keys and their
// rotation, and the rule that nothing about a credential is assumed: a missing,
// unknown, repeated or wider claim is a refusal. It makes scopes (tenant/grant)
// and hands them out only after a credential held. It knows nothing of HTTP,
// of databases, and of what tenants keep.
package auth
