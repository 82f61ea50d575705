// Package svg makes uploaded SVG drawings harmless. It reads a drawing as XML and writes another one from
// the elements, attributes and values that it knows: shapes, texts, gradients, patterns and references
// within the drawing. Nothing else of an upload reaches readers: no script, no event handler, no style
// sheet, no animation, no address of another file, no entity.
package svg
