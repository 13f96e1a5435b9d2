package engine_test

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
)

// one decodes a batch of one good event.
func one(t *testing.T, event []byte) kvevents.Event {
	t.Helper()
	var d engine.Decoder
	var b kvevents.Batch
	require.NoError(t, d.Decode(batchBytes(event), &b))
	require.Equal(t, kvevents.Drops{}, b.Dropped)
	require.Len(t, b.Events, 1)
	return b.Events[0]
}

func TestDecode_hashesOfEveryWidth(t *testing.T) {
	signed := func(n int64) kvevents.Hash { return kvevents.Hash(n) }
	for what, c := range map[string]struct {
		wire []byte
		want kvevents.Hash
	}{
		"fixint":          {raw(0x7f), 127},
		"negative fixint": {raw(0xff), signed(-1)},
		"int8":            {raw(0xd0, 0x80), signed(-128)},
		"int16":           {raw(0xd1, 0x80, 0x00), signed(math.MinInt16)},
		"int32":           {raw(0xd2, 0x80, 0, 0, 0), signed(math.MinInt32)},
		"int64":           {raw(0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0), signed(math.MinInt64)},
		"int64 positive":  {raw(0xd3, 0, 0, 0, 0, 0, 0, 0, 5), 5},
		"uint8":           {raw(0xcc, 0xff), 255},
		"uint16":          {raw(0xcd, 0xff, 0xff), math.MaxUint16},
		"uint32":          {raw(0xce, 0xff, 0xff, 0xff, 0xff), math.MaxUint32},
		"uint64":          {raw(0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe), math.MaxUint64 - 1},
		"8 bytes":         {bin(1, 2, 3, 4, 5, 6, 7, 8), 0x0102030405060708},
		"16 bytes":        {bin(9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8), 0x0102030405060708},
		"zero":            {num(0), 0},
	} {
		t.Run(what, func(t *testing.T) {
			e := one(t, stored(pair{"block_hashes", arr(c.wire, num(1))}, pair{"parent_block_hash", c.wire}))
			require.Equal(t, []kvevents.Hash{c.want, 1}, e.Hashes)
			require.True(t, e.HasParent)
			require.Equal(t, c.want, e.Parent)
		})
	}
}

func TestDecode_tiersOfBothVocabularies(t *testing.T) {
	for medium, want := range map[string]kvevents.Tier{
		"GPU": kvevents.TierDevice, "gpu": kvevents.TierDevice, "Gpu": kvevents.TierDevice,
		"CPU": kvevents.TierHost, "cpu": kvevents.TierHost, "CPU_PINNED": kvevents.TierHost, "cpu_pinned": kvevents.TierHost,
		"CPU_TIER1": kvevents.TierHost, "CPU_TIER2": kvevents.TierDisk,
		"DISK": kvevents.TierDisk, "STORAGE": kvevents.TierDisk, "storage": kvevents.TierDisk,
		"EXTERNAL": kvevents.TierExternal, "External": kvevents.TierExternal,
		"": kvevents.TierNone, "TAPE": kvevents.TierUnknown, "GPU ": kvevents.TierUnknown,
		"a medium with a name longer than any": kvevents.TierUnknown,
	} {
		require.Equal(t, want, one(t, stored(pair{"medium", str(medium)})).Tier, medium)
		require.Equal(t, want, one(t, removed(pair{"medium", str(medium)})).Tier, medium)
		require.Equal(t, want, one(t, arr(str("BlockRemoved"), nums(1), str(medium))).Tier, medium)
	}
	require.Equal(t, kvevents.TierNone, one(t, removed(pair{"medium", nil})).Tier)
	require.Equal(t, kvevents.TierNone, one(t, removed(pair{"medium", null()})).Tier)
}

func TestDecode_groups(t *testing.T) {
	for what, c := range map[string]struct {
		kind, window []byte
		scope        kvevents.Scope
		want         uint32
	}{
		"unsaid":             {nil, nil, kvevents.ScopeUnsaid, 0},
		"full":               {str("full_attention"), null(), kvevents.ScopeFull, 0},
		"latent":             {str("mla_attention"), nil, kvevents.ScopeFull, 0},
		"full with a window": {str("full_attention"), num(64), kvevents.ScopeFull, 0},
		"window":             {str("sliding_window"), num(64), kvevents.ScopeWindow, 64},
		"window untold":      {str("sliding_window"), nil, kvevents.ScopeWindow, 0},
		"only a window":      {nil, num(64), kvevents.ScopeWindow, 64},
		"state":              {str("mamba"), nil, kvevents.ScopeOther, 0},
		"chunks":             {str("chunked_local_attention"), num(64), kvevents.ScopeOther, 0},
		"no name":            {str(""), nil, kvevents.ScopeUnsaid, 0},
		"unheard of":         {str("a kind with a name longer than any"), nil, kvevents.ScopeOther, 0},
	} {
		e := one(t, stored(pair{"kv_cache_spec_kind", c.kind}, pair{"kv_cache_spec_sliding_window", c.window}, pair{"group_idx", num(3)}))
		require.Equal(t, c.scope, e.Scope, what)
		require.Equal(t, c.want, e.Window, what)
		require.EqualValues(t, 3, e.Group, what)
	}
	e := one(t, stored(pair{"block_hashes", arr()}, pair{"kv_cache_spec_kind", str("sliding_window")}))
	require.Empty(t, e.Hashes)
	require.Len(t, e.Tokens, 4)
}

func TestDecode_shapesOfBlocks(t *testing.T) {
	e := one(t, stored(pair{"block_size", null()}))
	require.EqualValues(t, 2, e.BlockSize, "from 4 tokens in 2 blocks")
	e = one(t, stored(pair{"block_size", nil}, pair{"token_ids", arr(nums(1, 2), nums(2, 3))}))
	require.EqualValues(t, 1, e.BlockSize)
	require.True(t, e.Bigram)
	require.Equal(t, []uint32{1, 2, 2, 3}, e.Tokens)
	require.Equal(t, 2, e.Units())
	e = one(t, stored(pair{"token_ids", nums(1, 2)}, pair{"block_size", num(1)}))
	require.EqualValues(t, 1, e.BlockSize)
	e = one(t, stored(pair{"token_ids", arr()}, pair{"block_size", num(0)}, pair{"parent_block_hash", null()}))
	require.Equal(t, []kvevents.Hash{1, 2}, e.Hashes, "a placeholder")
	require.Zero(t, e.BlockSize)
	require.Zero(t, e.Units())
	require.False(t, e.HasParent)
	e = one(t, stored(pair{"parent_block_hash", nil}))
	require.False(t, e.HasParent)
	e = one(t, arr(str("BlockStored"), nums(1), null(), nums(1, 2)))
	require.EqualValues(t, 2, e.BlockSize)
	require.Equal(t, kvevents.KindCleared, one(t, arr(str("AllBlocksCleared"), nested(9))).Kind)
}

func TestDecode_unknownFieldsAreSkipped(t *testing.T) {
	want := one(t, stored())
	require.Equal(t, want, one(t, stored(
		pair{"session_id", num(5)}, pair{"ownership", arr()}, pair{"future", nested(100_000)},
		pair{"other", obj(pair{"block_hashes", str("x")})}, pair{"ext", raw(0xd4, 0x05, 0x00)},
	)))
	oddKeys := append(raw(0x84), append(num(1), num(2)...)...)
	oddKeys = append(append(oddKeys, nums(1)...), null()...)
	oddKeys = append(append(oddKeys, str("type")...), str("AllBlocksCleared")...)
	oddKeys = append(append(oddKeys, null()...), obj()...)
	require.Equal(t, kvevents.KindCleared, one(t, oddKeys).Kind)
	long := arr(str("BlockStored"), nums(1), num(9), nums(1), num(1), null(), str("GPU"), null(), null(), num(1),
		null(), null(), str("future"), nested(100_000))
	require.EqualValues(t, 1, one(t, long).Group)
}

func TestDecode_namespaces(t *testing.T) {
	root := pair{"parent_block_hash", null()}
	name := pair{"lora_name", str("adapter")}
	embedding := bin(1, 2, 3)
	for what, c := range map[string]struct {
		changes []pair
		lora    string
		salt    string
		extra   []bool
	}{
		"plain":              {[]pair{root}, "", "", nil},
		"salt field":         {[]pair{root, {"cache_salt", str("s")}}, "", "s", nil},
		"salt field later":   {[]pair{{"cache_salt", str("s")}}, "", "s", nil},
		"empty names":        {[]pair{root, {"cache_salt", str("")}, {"lora_name", str("")}}, "", "", nil},
		"salt key":           {[]pair{root, {"extra_keys", arr(arr(str("s")), null())}}, "", "s", nil},
		"salt both ways":     {[]pair{root, {"cache_salt", str("s")}, {"extra_keys", arr(arr(str("s")), null())}}, "", "s", nil},
		"two salts":          {[]pair{root, {"cache_salt", str("s")}, {"extra_keys", arr(arr(str("r")), null())}}, "", "s", []bool{true, false}},
		"lora":               {[]pair{root, name, {"extra_keys", arr(arr(str("adapter")), arr(str("adapter")))}}, "adapter", "", nil},
		"lora after keys":    {[]pair{root, {"extra_keys", arr(arr(str("adapter")), arr(str("adapter")))}, name}, "adapter", "", nil},
		"lora and salt":      {[]pair{root, name, {"extra_keys", arr(arr(str("adapter"), str("s")), arr(str("adapter")))}}, "adapter", "s", nil},
		"salt as the lora":   {[]pair{root, name, {"extra_keys", arr(arr(str("adapter"), str("adapter")), arr(str("adapter")))}}, "adapter", "adapter", nil},
		"number and name":    {[]pair{root, name, {"lora_id", num(3)}}, "adapter", "", nil},
		"only a number":      {[]pair{root, {"lora_id", num(3)}}, "lora_id:3", "", nil},
		"number 0":           {[]pair{root, {"lora_id", num(0)}}, "", "", nil},
		"number, named keys": {[]pair{{"lora_id", num(3)}, {"extra_keys", arr(arr(str("a")), arr(str("a")))}}, "a", "", nil},
		"item":               {[]pair{root, {"extra_keys", arr(arr(arr(str("id"), num(-2))), null())}}, "", "", []bool{true, false}},
		"all four": {[]pair{root, name, {"extra_keys", arr(
			arr(str("adapter"), arr(str("id"), num(0)), str("s"), embedding), arr(str("adapter"), embedding))}}, "adapter", "s", []bool{true, true}},
		"text in a later block":  {[]pair{root, {"extra_keys", arr(null(), arr(str("id")))}}, "", "", []bool{false, true}},
		"text behind a parent":   {[]pair{{"extra_keys", arr(arr(str("id")), null())}}, "", "", []bool{true, false}},
		"two texts":              {[]pair{root, {"extra_keys", arr(arr(str("id"), str("s")), null())}}, "", "", []bool{true, false}},
		"fewer keys than blocks": {[]pair{root, {"extra_keys", arr(arr(str("s")))}}, "", "s", nil},
		"empty lists":            {[]pair{root, {"extra_keys", arr(arr(), arr(null()), arr(), null())}}, "", "", nil},
		"deep content":           {[]pair{root, {"extra_keys", arr(arr(nested(100_000)), null())}}, "", "", []bool{true, false}},
	} {
		t.Run(what, func(t *testing.T) {
			e := one(t, stored(c.changes...))
			require.Equal(t, c.lora, e.LoRA)
			require.Equal(t, c.salt, e.Salt)
			var extra []bool
			for _, digest := range e.Extra {
				extra = append(extra, digest != 0)
			}
			require.Equal(t, c.extra, extra)
		})
	}
	sglang := arr(str("BlockStored"), nums(1), null(), nums(1), num(1), null(), str("GPU"),
		obj(pair{"session_id", num(1)}, pair{"cache_salt", str("s")}, pair{"lora_name", str("a")}, pair{"block_hashes", null()}))
	e := one(t, sglang)
	require.Equal(t, "s", e.Salt)
	require.Equal(t, "a", e.LoRA)
}

// TestDecode_digestsTellContentApart states when two blocks have the same content.
func TestDecode_digestsTellContentApart(t *testing.T) {
	item := func(id string, offset int64) []byte { return arr(str(id), num(offset)) }
	digest := func(keys ...[]byte) uint64 {
		return one(t, stored(pair{"extra_keys", arr(arr(keys...), null())})).Extra[0]
	}
	seen := map[uint64]bool{}
	for _, keys := range [][][]byte{
		{item("a", 0)},
		{item("a", 1)},
		{item("b", 0)},
		{item("a", 0), item("b", 0)},
		{item("b", 0), item("a", 0)},
		{item("a", 0), item("a", 0)},
		{str("a")},
		{bin('a')},
		{str("a"), str("b")},
		{str("b"), str("a")},
	} {
		d := digest(keys...)
		require.False(t, seen[d])
		require.Equal(t, d, digest(keys...))
		seen[d] = true
	}
}
