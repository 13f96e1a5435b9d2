// Package tokenizers keeps a tokenizer for each model of the fleet, as the
// configuration says: it opens their folders, compares them with the engines before
// they are used and again when engines begin anew, and says which engine to ask.
package tokenizers
