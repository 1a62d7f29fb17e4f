package llm_test

// hashGolden are digests and first numbers of recorded vectors.
var hashGolden = [6]string{}
