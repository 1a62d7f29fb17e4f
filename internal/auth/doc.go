// Package auth authenticates a credential and returns a principal with a tenant
// scope. A credential is an API key, of which only a hash is stored, or a
// short-lived token (JWT, EdDSA) that was exchanged for a key and becomes invalid
// with it.
//
// A grant lets a program act for the holder of a key, at one resource and perhaps for one user of an application: Grants
// issues its codes and tokens; package oauth speaks the protocol.
//
// It owns the text of keys, the claims of tokens, the signing keys and their
// rotation. Nothing about a credential is assumed: a claim that is missing,
// unknown or repeated, or that exceeds the rights of the key, is refused. It
// creates scopes (tenant/grant) and returns them only for a verified credential. It
// does not depend on HTTP, on databases, or on what tenants store.
//
// Package api calls it for each request, cmd/gateway for keys and secrets. The
// store implements KeyStore, SigningKeyStore, GrantStore and AgentStore. TenantLedger is used
// by package tenant.
package auth
