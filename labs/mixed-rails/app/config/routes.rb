Rails.application.routes.draw do
  # Alive or not, without the database.
  get "/up", to: ->(_env) { [200, { "Content-Type" => "text/plain" }, ["ok\n"]] }

  # The light ones.
  resources :products, only: %i[index show] do
    get :search, on: :collection
  end

  # The new one, which waits for a service elsewhere.
  get "/slow", to: "stock#show"
end
