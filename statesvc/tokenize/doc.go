// Package tokenize tells how an engine will tokenize a request: the ids, which the KV
// index is asked about, and their number, which buckets are chosen by.
//
// A Model chooses, for one served model, the first of these that can answer:
//
//   - the client's own token ids;
//   - bpe: the model's tokenizer.json and chat template, run here, once they were seen
//     to give the engine's tokens (parity), for each feature of the API by itself;
//   - the engine's /tokenize;
//   - the number of tokens of the prompt's raw text, for its length only;
//   - a quarter of the body's bytes.
//
// An answer says which it is and why it is no better. Nothing is taken for exact that
// is not, and every request is answered within its context: this package has no error
// but for bodies that are no requests. See README.md for the parts.
package tokenize
