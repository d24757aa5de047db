module twenty

go 1.23
