def write_page(results, page):
    pass
