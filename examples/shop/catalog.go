package main

import (
	"context"
	"database/sql"
	"fmt"
)

const shopSchema = `
	CREATE TABLE products (
		id       INTEGER PRIMARY KEY,
		name     TEXT NOT NULL,
		category TEXT NOT NULL,
		cents    INTEGER NOT NULL
	);
	CREATE INDEX products_category ON products (category);
	CREATE TABLE stock (
		product_id INTEGER PRIMARY KEY REFERENCES products,
		on_hand    INTEGER NOT NULL CHECK (on_hand >= 0),
		sold       INTEGER NOT NULL,
		received   INTEGER NOT NULL
	)`

var (
	categories = []string{"chair", "desk", "lamp", "shelf", "rug"}
	materials  = []string{"oak", "pine", "steel", "wool", "glass", "linen", "cork", "brass"}
)

// A product is a row of the table products.
type product struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Cents    int64  `json:"cents"`
	OnHand   int    `json:"on_hand,omitempty"`

	category int // index in categories
}

// newCatalog returns the same products at every start.
func newCatalog() []product {
	var catalog []product
	for m, material := range materials {
		for c, category := range categories {
			id := len(catalog)
			catalog = append(catalog, product{
				ID: id, Name: material + " " + category, Category: category,
				Cents: int64(9_99 + 7_50*m + 13_25*c), category: c,
			})
		}
	}
	return catalog
}

// fillShop writes the catalog and the first stock.
func fillShop(ctx context.Context, db *sql.DB, catalog []product) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after Commit
	for _, p := range catalog {
		if _, err := tx.ExecContext(ctx, `INSERT INTO products VALUES (?, ?, ?, ?)`, p.ID, p.Name, p.Category, p.Cents); err != nil {
			return fmt.Errorf("product %d: %w", p.ID, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO stock VALUES (?, ?, 0, ?)`, p.ID, firstStock, firstStock); err != nil {
			return fmt.Errorf("stock of product %d: %w", p.ID, err)
		}
	}
	return tx.Commit()
}

// productsOf returns the products of a category and how many of each are there.
func productsOf(ctx context.Context, db *sql.DB, category string) (list []product, err error) {
	rows, err := db.QueryContext(ctx, `
		SELECT id, name, category, cents, on_hand
		FROM products JOIN stock ON product_id = id
		WHERE category = ? ORDER BY id`, category)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p product
		if err := rows.Scan(&p.ID, &p.Name, &p.Category, &p.Cents, &p.OnHand); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}
