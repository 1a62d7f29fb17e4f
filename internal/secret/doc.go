// Package secret finds what must not be remembered in a text: keys and tokens of services, private keys, numbers of
// payment cards, passwords and PINs that somebody tells. It works on words that people say, in English and Chinese, and
// on code and settings that they paste. It needs no network and no files, and takes time linear in the text: about a
// microsecond for a kilobyte of ordinary talk.
//
// What keys look like is from the rules of github.com/gitleaks/gitleaks, Copyright (c) 2019 Zachary Rice, MIT License;
// package gen packs them. The rules about talk are ours.
package secret
