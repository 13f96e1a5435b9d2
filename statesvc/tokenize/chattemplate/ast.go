package chattemplate

// Expressions.
type (
	literal struct{ value Value }
	name    struct{ name string }
	listOf  struct{ items []expr }
	dictOf  struct{ keys, values []expr }
	attr    struct {
		of   expr
		name string
	}
	item struct{ of, key expr }
	part struct{ of, start, stop, step expr }
	call struct {
		function string
		args     []expr
		named    []namedArg
	}
	methodCall struct {
		of     expr
		method string
		args   []expr
	}
	filter struct {
		of    expr
		name  string
		args  []expr
		named []namedArg
	}
	test struct {
		of      expr
		name    string
		arg     expr
		negated bool
	}
	unary struct {
		op string
		of expr
	}
	binary struct {
		op          string
		left, right expr
	}
	// sum is a chain of additions, which concatenates without copying twice.
	sum         struct{ terms []expr }
	conditional struct{ then, condition, otherwise expr }
)

type namedArg struct {
	name  string
	value expr
}

// Statements.
type (
	textNode   struct{ text string }
	outputNode struct{ value expr }
	branch     struct {
		condition expr // nil for else
		body      []node
	}
	ifNode  struct{ branches []branch }
	forNode struct {
		vars            []string
		over, condition expr
		body, otherwise []node
	}
	setNode struct {
		target, member string
		value          expr
		body           []node // of a block, where value is nil
	}
	macroNode struct {
		name     string
		params   []string
		defaults []expr // nil where there is none
		body     []node
	}
	jumpNode struct{ out bool }
)

// expr is evaluated and node is executed by the renderer.
type (
	expr any
	node any
)
