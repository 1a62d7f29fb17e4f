// Package bench_test measures a whole gateway in one process (BenchmarkGateway, and
// BenchmarkCorpus on what people say, "make bench") and gateways over servers (BenchmarkServers, "make bench/servers"). docs/benchmarks.md
// explains how to read the figures. Benchmarks of one package are in that package.
package bench_test
