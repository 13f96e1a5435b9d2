package engine_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
)

var (
	malformed   = kvevents.Drops{Malformed: 1}
	unknownKind = kvevents.Drops{UnknownKind: 1}
	tooLarge    = kvevents.Drops{TooLarge: 1}
)

// TestDecode_aBadEventLeavesItsSiblings puts each bad event between two good ones.
func TestDecode_aBadEventLeavesItsSiblings(t *testing.T) {
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	name, list := str("x"), nums(1)
	for what, c := range map[string]struct {
		event []byte
		drops kvevents.Drops
	}{
		"nil":                          {null(), malformed},
		"a number":                     {num(1), malformed},
		"a string":                     {str("BlockStored"), malformed},
		"an extension":                 {raw(0xd4, 0x05, 0x00), malformed},
		"empty array":                  {arr(), malformed},
		"empty map":                    {obj(), malformed},
		"array, tag a number":          {arr(num(1), nums(1)), malformed},
		"array, tag nil":               {arr(null(), nums(1)), malformed},
		"array, tag unknown":           {arr(str("BlockMoved"), num(1)), unknownKind},
		"array, tag in another case":   {arr(str("blockstored"), nums(1), null(), nums(1), num(1)), unknownKind},
		"array, only a tag":            {arr(str("BlockStored")), malformed},
		"array, no tokens":             {arr(str("BlockStored"), nums(1), null()), malformed},
		"array, removal of nothing":    {arr(str("BlockRemoved")), malformed},
		"array, metadata with bad key": {arr(str("BlockStored"), nums(1), null(), nums(1), num(1), null(), null(), append(raw(0x81), append(num(1), num(1)...)...)), malformed},
		"array, metadata bad salt":     {arr(str("BlockStored"), nums(1), null(), nums(1), num(1), null(), null(), obj(pair{"cache_salt", num(1)})), malformed},
		"map without type":             {removed(pair{"type", nil}), malformed},
		"type a number":                {removed(pair{"type", num(1)}), malformed},
		"type nil":                     {removed(pair{"type", null()}), malformed},
		"type unknown":                 {removed(pair{"type", str("BlockMoved")}), unknownKind},
		"type unknown, other hashes":   {removed(pair{"type", str("BlockMoved")}, pair{"block_hashes", name}), unknownKind},

		"hashes absent":         {removed(pair{"block_hashes", nil}), malformed},
		"hashes nil":            {removed(pair{"block_hashes", null()}), malformed},
		"hashes a number":       {removed(pair{"block_hashes", num(1)}), malformed},
		"hashes a map":          {removed(pair{"block_hashes", obj()}), malformed},
		"hash a string":         {removed(pair{"block_hashes", arr(num(1), name)}), malformed},
		"hash nil":              {removed(pair{"block_hashes", arr(num(1), null())}), malformed},
		"hash a float":          {removed(pair{"block_hashes", arr(float(1))}), malformed},
		"hash a list":           {removed(pair{"block_hashes", arr(list)}), malformed},
		"hash of 7 bytes":       {removed(pair{"block_hashes", arr(bin(1, 2, 3, 4, 5, 6, 7))}), malformed},
		"hash of no bytes":      {removed(pair{"block_hashes", arr(bin())}), malformed},
		"hashes nested":         {removed(pair{"block_hashes", nested(100_000)}), malformed},
		"65,537 hashes":         {removed(pair{"block_hashes", nums(make([]int64, 65_537)...)}), tooLarge},
		"65,537 hashes, stored": {stored(pair{"block_hashes", nums(make([]int64, 65_537)...)}), tooLarge},

		"parent a string":       {stored(pair{"parent_block_hash", name}), malformed},
		"parent a list":         {stored(pair{"parent_block_hash", list}), malformed},
		"parent of 4 bytes":     {stored(pair{"parent_block_hash", bin(1, 2, 3, 4)}), malformed},
		"parent a bool":         {stored(pair{"parent_block_hash", boolean(true)}), malformed},
		"tokens absent":         {stored(pair{"token_ids", nil}), malformed},
		"tokens nil":            {stored(pair{"token_ids", null()}), malformed},
		"tokens a string":       {stored(pair{"token_ids", name}), malformed},
		"tokens bytes":          {stored(pair{"token_ids", bin(1, 2, 3, 4)}), malformed},
		"token negative":        {stored(pair{"token_ids", nums(1, 2, 3, -4)}), malformed},
		"token above 32 bits":   {stored(pair{"token_ids", nums(1, 2, 3, 1<<32)}), malformed},
		"token a float":         {stored(pair{"token_ids", arr(num(1), num(2), num(3), float(4))}), malformed},
		"token nil":             {stored(pair{"token_ids", arr(num(1), num(2), num(3), null())}), malformed},
		"pair among tokens":     {stored(pair{"token_ids", arr(num(1), nums(1, 2))}), malformed},
		"token among pairs":     {stored(pair{"token_ids", arr(nums(1, 2), num(1))}), malformed},
		"triple":                {stored(pair{"token_ids", arr(nums(1, 2), nums(1, 2, 3))}), malformed},
		"empty pair":            {stored(pair{"token_ids", arr(arr(), nums(1, 2))}), malformed},
		"pair of strings":       {stored(pair{"token_ids", arr(arr(name, name))}), malformed},
		"tokens nested":         {stored(pair{"token_ids", nested(100_000)}), malformed},
		"more blocks than fit":  {stored(pair{"token_ids", nums(1, 2, 3)}), malformed},
		"block size 0":          {stored(pair{"block_size", num(0)}), malformed},
		"block size negative":   {stored(pair{"block_size", num(-2)}), malformed},
		"block size a string":   {stored(pair{"block_size", name}), malformed},
		"block size huge":       {stored(pair{"block_size", num(1 << 40)}), malformed},
		"block size too big":    {stored(pair{"block_size", num(1<<32 - 1)}), malformed},
		"no size, not a share":  {stored(pair{"block_size", null()}, pair{"token_ids", nums(1, 2, 3)}), malformed},
		"no size, in a window":  {stored(pair{"block_size", null()}, pair{"kv_cache_spec_kind", str("sliding_window")}), malformed},
		"lora id a string":      {stored(pair{"lora_id", name}), malformed},
		"lora id above 63 bits": {stored(pair{"lora_id", unsigned(1 << 63)}), malformed},
		"medium a number":       {stored(pair{"medium", num(1)}), malformed},
		"medium of a removal":   {removed(pair{"medium", list}), malformed},
		"lora name a number":    {stored(pair{"lora_name", num(1)}), malformed},
		"lora name bytes":       {stored(pair{"lora_name", bin(1)}), malformed},
		"lora name too long":    {stored(pair{"lora_name", str(string(long))}), tooLarge},
		"salt a number":         {stored(pair{"cache_salt", num(1)}), malformed},
		"salt too long":         {stored(pair{"cache_salt", str(string(long))}), tooLarge},
		"salt too long, keys": {stored(pair{"parent_block_hash", null()}, pair{
			"extra_keys", arr(arr(str(string(long))), null()),
		}), tooLarge},
		"keys a string":          {stored(pair{"extra_keys", name}), malformed},
		"keys of a block text":   {stored(pair{"extra_keys", arr(name, null())}), malformed},
		"keys of no block":       {stored(pair{"extra_keys", arr(null(), null(), arr(name))}), malformed},
		"group a string":         {stored(pair{"group_idx", name}), malformed},
		"group negative":         {removed(pair{"group_idx", num(-1)}), malformed},
		"group above 32 bits":    {removed(pair{"group_idx", num(1 << 32)}), malformed},
		"kind a number":          {stored(pair{"kv_cache_spec_kind", num(1)}), malformed},
		"window a string":        {stored(pair{"kv_cache_spec_sliding_window", name}), malformed},
		"window negative":        {stored(pair{"kv_cache_spec_sliding_window", num(-1)}), malformed},
		"locality a number":      {removed(pair{"locality", num(1)}), malformed},
		"array, medium a number": {arr(str("BlockRemoved"), nums(1), num(1)), malformed},
	} {
		t.Run(what, func(t *testing.T) {
			var d engine.Decoder
			var b kvevents.Batch
			require.NoError(t, d.Decode(batchBytes(removed(), c.event, stored()), &b))
			require.Equal(t, c.drops, b.Dropped)
			require.Equal(t, []kvevents.Event{
				{Kind: kvevents.KindRemoved, Tier: kvevents.TierDevice, Hashes: []kvevents.Hash{1, 2}},
				{
					Kind: kvevents.KindStored, Tier: kvevents.TierDevice, Hashes: []kvevents.Hash{1, 2},
					Parent: 9, HasParent: true, Tokens: []uint32{10, 11, 12, 13}, BlockSize: 2,
				},
			}, plain(&b).Events)
		})
	}
}

func TestDecode_whatIsNoBatch(t *testing.T) {
	good := batchBytes(stored())
	for what, c := range map[string]struct {
		payload []byte
		reason  engine.Reason
	}{
		"nothing":             {nil, engine.ReasonNotMsgpack},
		"reserved byte":       {raw(0xc1), engine.ReasonNotMsgpack},
		"text":                {[]byte("hello"), engine.ReasonNotBatch},
		"nil":                 {null(), engine.ReasonNotBatch},
		"map":                 {obj(pair{"ts", float(1)}), engine.ReasonNotBatch},
		"empty array":         {arr(), engine.ReasonNotBatch},
		"only a time":         {arr(float(1)), engine.ReasonNotBatch},
		"time a string":       {arr(str("x"), arr()), engine.ReasonNotBatch},
		"time nil":            {arr(null(), arr()), engine.ReasonNotBatch},
		"events nil":          {arr(float(1), null(), num(0)), engine.ReasonNotBatch},
		"events a map":        {arr(float(1), obj(), num(0)), engine.ReasonNotBatch},
		"load report":         {arr(str("LoadStat"), num(1), num(2), num(3), num(4)), engine.ReasonNotBatch},
		"bytes after it":      {append(batchBytes(), 0), engine.ReasonNotBatch},
		"more events claimed": {raw(0x92, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 0xff, 0xff, 0xff, 0xff), engine.ReasonNotMsgpack},
		"more array claimed":  {raw(0xdd, 0xff, 0xff, 0xff, 0xff), engine.ReasonNotMsgpack},
		"reserved in event":   {batchBytes(raw(0xc1)), engine.ReasonNotMsgpack},
		"reserved in tokens":  {batchBytes(stored(pair{"token_ids", arr(raw(0xc1))})), engine.ReasonNotMsgpack},
		"garbled extra":       {arr(float(1), arr(), num(0), raw(0xc1)), engine.ReasonNotMsgpack},
		"missing extra":       {good[:len(good)-1], engine.ReasonNotMsgpack},
	} {
		t.Run(what, func(t *testing.T) {
			var d engine.Decoder
			b := kvevents.Batch{Rank: 7, Events: make([]kvevents.Event, 3)}
			err := d.Decode(c.payload, &b)
			require.ErrorIs(t, err, &engine.Error{Reason: c.reason})
			require.Equal(t, kvevents.Batch{Events: []kvevents.Event{}}, b)
		})
	}
}

// TestDecode_everyCutIsAnError cuts a batch at each byte: no piece of it is taken for a
// whole.
func TestDecode_everyCutIsAnError(t *testing.T) {
	whole := batchBytes(
		stored(pair{"extra_keys", arr(arr(str("salt"), nums(1, 2)), null())}), removed(),
		stored(pair{"token_ids", arr(unsigned(200), unsigned(60_000), unsigned(100_000), unsigned(1<<32-1))}),
		arr(str("BlockRemoved"), arr(bin(1, 2, 3, 4, 5, 6, 7, 8)), str("CPU")), null())
	var d engine.Decoder
	var b kvevents.Batch
	require.NoError(t, d.Decode(whole, &b))
	require.Len(t, b.Events, 4)
	require.Equal(t, []uint32{200, 60_000, 100_000, 1<<32 - 1}, b.Events[2].Tokens)
	for n := range whole {
		require.ErrorIs(t, d.Decode(whole[:n], &b), &engine.Error{Reason: engine.ReasonNotMsgpack}, "%d bytes", n)
		require.Empty(t, b.Events)
	}
}

func TestDecode_formsOfABatch(t *testing.T) {
	for what, c := range map[string]struct {
		payload []byte
		rank    uint32
		known   bool
	}{
		"two elements":  {arr(float(2), arr(removed())), 0, false},
		"rank nil":      {arr(float(2), arr(removed()), null()), 0, false},
		"rank":          {arr(float(2), arr(removed()), num(3)), 3, true},
		"more elements": {arr(num(2), arr(removed()), num(3), str("x"), obj(pair{"y", nested(50)})), 3, true},
		"rank negative": {arr(float(2), arr(removed()), num(-1)), 0, false},
		"rank a string": {arr(raw(0xca, 0x40, 0, 0, 0), arr(removed()), str("1")), 0, false},
		"rank huge":     {arr(unsigned(2), arr(removed()), num(1<<40)), 0, false},
	} {
		t.Run(what, func(t *testing.T) {
			var d engine.Decoder
			var b kvevents.Batch
			require.NoError(t, d.Decode(c.payload, &b))
			require.Equal(t, 2.0, b.Time)
			require.Equal(t, c.known, b.RankKnown)
			require.Equal(t, c.rank, b.Rank)
			require.Len(t, b.Events, 1)
			require.False(t, b.Dropped.Any())
		})
	}
}
