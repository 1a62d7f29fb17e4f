// Package oauth is the authorization server for the gateway's MCP route (OAuth 2.1, as the Model Context Protocol has it): it describes
// itself, registers programs, asks the holder of an API key for consent on a page, and issues tokens for codes and refresh tokens.
//
// It owns the protocol's requests, answers and errors, the page, and the ids of programs, which say all that is known of a program
// and are stored nowhere. What is granted, codes and tokens are the business of package auth. Package api mounts the routes.
package oauth
