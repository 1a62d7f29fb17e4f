package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TLS starts a TLS proxy in front of the server, because many builds of redis-server do
// not support TLS. It returns the URL with a user and a password, and the file of the
// self-signed certificate.
func (s *Server) TLS(userinfo string) (url, certFile string) {
	s.t.Helper()
	cert, certFile := selfSigned(s.t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.proxy(c)
		}
	}()
	return fmt.Sprintf("rediss://%s@%s/0", userinfo, l.Addr()), certFile
}

// proxy proxies a connection to the server until either side closes it.
func (s *Server) proxy(c net.Conn) {
	defer c.Close()                                 //nolint:errcheck // nothing depends on it
	to, err := net.Dial("tcp", "127.0.0.1:"+s.port) //nolint:noctx // it ends with the connection
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // nothing depends on it
	go func() {
		_, _ = io.Copy(to, c)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
}

// selfSigned returns a self-signed certificate for 127.0.0.1 and its file.
func selfSigned(t *testing.T) (cert tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redistest"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
